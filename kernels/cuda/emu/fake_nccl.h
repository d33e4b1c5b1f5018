// fake_nccl.h - what stands for NCCL under the emulator. The ranks are processes of this host, or several contexts of one. What
// they share is an anonymous file that the identity leads to (/proc/PID/fd/N of whoever made it), so that nothing is left
// behind by whoever is killed: what each is about to do, and the data. fake_nccl_shared.cc is that file, fake_nccl.cc making
// and ending communicators, fake_nccl_messages.cc the calls that send and all that they refuse, fake_nccl_run.cc what messages do
// in their streams' turn.
#pragma once
#include "nccl_api.h"
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fake {
enum { RANKS = 64, PARTS = 32 };
enum Kind : int32_t { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, SEND, RECV };

// What ranks must agree about. count is the argument of the call.
struct Part {
  int32_t kind, op, root, type;
  uint64_t count;
};
struct Call {
  uint64_t seq;
  int32_t parts;
  Part part[PARTS];
  uint64_t at[PARTS]; // where the data of each part lies in the file
};
enum Presence : uint32_t { ABSENT, SEATED, PRESENT, LEFT };
struct Member {
  std::atomic<uint32_t> present;
  int32_t pid;
  uint64_t started; // of the process, in clock ticks: a number may be used again
  std::atomic<uint64_t> posted;
  Call call[2];                 // of even and of odd numbers: a rank writes one while others read the other
  std::atomic<uint64_t> splits; // that it has begun
  struct Split {
    int32_t color, key, fd;
    uint64_t nonce;
    std::atomic<uint64_t> made; // the number of the split, once this rank has made the file of its color
  } split[2];                   // likewise
};
struct Mail { // from one rank to another
  std::atomic<uint64_t> posted, copied;
  std::atomic<int64_t> came_ns; // when the receiver came
  Call call;
};
struct Header {
  char magic[8];
  uint64_t nonce;
  std::atomic<uint32_t> n, joined;
  std::atomic<uint32_t> failed; // 0, 1 while the reason is being written, or 16 + the result
  char why[400];
  std::atomic<uint64_t> end; // of what is in use of the file
  Member member[RANKS];
  Mail mail[RANKS][RANKS];
};

struct Id {
  char magic[8];
  int32_t pid, fd;
  uint64_t nonce;
};
// A piece of the file that belongs to one rank, used again and again, and replaced when it is too small.
struct Room {
  uint64_t at = 0, bytes = 0;
};

struct Shared {
  Header *header = nullptr;
  char *base = nullptr; // of the whole file: more addresses than it has bytes
  int fd = -1;
  ~Shared();
  char *room(Room *, uint64_t bytes); // nullptr: no memory
};
int make_file(Id *);                                          // a descriptor, or -errno
std::shared_ptr<Shared> open_file(const Id &, std::string *); // nullptr with the reason
void fail(Header *, int32_t result, const char *format, ...) __attribute__((format(printf, 3, 4)));
int32_t failure(Header *, char *text, size_t len); // 0, or the result
std::string describe(const Call &);
int64_t now_ns();
bool alive(const Member &);
uint64_t start_of_process(int pid); // 0: there is none
uint64_t type_bytes(int32_t type);  // 0: not one that this knows
// What the message whose turn it is waits for.
struct Wait {
  cudaStream_t stream = nullptr;
  bool begun = false;
  int32_t kind = 0, peer = 0; // peer: of a transfer
  uint64_t seq = 0;
};
} // namespace fake

// What a handle is. Messages that are under way keep it.
struct nccl_comm_t {
  std::shared_ptr<fake::Shared> shared;
  int n = 0, rank = 0;
  uint64_t nonce = 0; // of the identity
  enum { JOINING, READY, SPLITTING, LAUNCHING, FINALIZING, FINALIZED } state = JOINING;
  std::atomic<bool> aborted{false};
  int polls = 0;                            // that must still come until a launch is over
  std::function<void()> launch;             // what the last of them does
  std::atomic<uint64_t> issued{0}, turn{0}; // messages: one after the other, whatever streams they are on
  uint64_t calls = 0;                       // collectives that were begun
  uint64_t sent[fake::RANKS] = {}, received[fake::RANKS] = {};
  fake::Room half[2], mail[fake::RANKS];
  int64_t looked_ns = 0; // for the dead
  fake::Wait wait;       // under the lock of waits
  // splitting
  uint64_t splits = 0;
  nccl_comm_t **child = nullptr;
  std::shared_ptr<nccl_comm_t> made;
  char text[512] = ""; // of the last error
};

namespace fake {
typedef std::shared_ptr<nccl_comm_t> Comm;
struct Operation { // a part with this rank's memory
  Part part;
  const void *src;
  void *dst;
};
Comm find(nccl_comm); // nullptr: there is none
// Keeps the text for ncclGetLastError, of the communicator (where there is one) and of this thread, and returns the result.
int32_t refuse(nccl_comm_t *, int32_t result, const char *format, ...) __attribute__((format(printf, 3, 4)));
// The functions that fake_nccl_messages.cc has.
int32_t group_start(), group_end();
int32_t all_reduce(const void *, void *, size_t, int32_t type, int32_t op, nccl_comm, cudaStream_t);
int32_t all_gather(const void *, void *, size_t, int32_t type, nccl_comm, cudaStream_t);
int32_t reduce_scatter(const void *, void *, size_t, int32_t type, int32_t op, nccl_comm, cudaStream_t);
int32_t broadcast(const void *, void *, size_t, int32_t type, int root, nccl_comm, cudaStream_t);
int32_t send(const void *, size_t, int32_t type, int peer, nccl_comm, cudaStream_t);
int32_t recv(void *, size_t, int32_t type, int peer, nccl_comm, cudaStream_t);
// Queues a group call: its turn comes when its stream has come to it and what was issued before on the communicator is over.
void run(const Comm &, cudaStream_t, std::vector<Operation>);
bool look_for_the_dead(nccl_comm_t *, int only); // only: the rank that is waited for, -1 all that have not posted
} // namespace fake
