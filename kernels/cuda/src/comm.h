// comm.h - one rank's end of a communicator, and the record of what it is doing.
#pragma once
#include "library.h"
#include <deque>
#include <mutex>

// A message that was issued. Its stream has come to it when start has come to pass, and it is over when end has.
struct bt_flight {
  uint64_t seq, bytes;
  char what[120], label[BT_LABEL];
  bt_stream *on;
  uint64_t ticket;
  cudaEvent_t start, end;
  nccl_comm comm; // that carries it
  int peer;       // of a transfer: the other end; -1: all ranks
  int64_t started_ns; // when it was first seen to have started; 0: not yet
};

// NCCL runs what is issued on one communicator in order, whatever streams it is on: two ranks that send to each other before they
// receive would wait for ever. So transfers between neighbours have a communicator for each direction, made by splitting.
struct bt_flow {
  int from, to;
  nccl_comm comm;
};
enum { BT_SPLITS = 4 };

struct bt_comm {
  bt_ctx *ctx;
  int n, rank;
  char name[32];
  nccl_comm main = nullptr;
  nccl_comm split[BT_SPLITS] = {};
  std::vector<bt_flow> flows;
  int splits = 0; // that were begun
  bool ready = false, ended = false;
  uint64_t seq = 0;
  std::deque<bt_flight> flights;     // those under way, the oldest first
  std::vector<cudaEvent_t> events;   // to be used again
  std::mutex lock;                   // no two threads may be inside NCCL with one communicator
  std::atomic<bool> aborting{false}; // whoever polls with the lock held gives it back
  std::atomic<int> failed{BT_OK};    // a bt_status; why is written before it, once
  char why[BT_ERRLEN] = "";
  bool told = false; // to the streams
};

// Makes the communicator fail: the first reason stays. What it runs is ended on the device. With the lock held.
void bt_comm_fail(bt_comm *, bt_status, const char *format, ...) __attribute__((format(printf, 3, 4)));
// Makes it fail with what NCCL says of an error. With the lock held.
bt_status bt_comm_explain(bt_comm *, nccl_comm, int32_t result, const char *what);
bool bt_comm_aborted(const char *text); // whether that is the text of an error of what another rank has aborted on purpose
// Waits until NCCL has done what it was asked for, at most so long (0: for ever). BT_OK, or the communicator has failed. With the lock held.
bt_status bt_comm_settle(bt_comm *, nccl_comm, const char *what, int64_t most_ns);
// Looks whether NCCL has met an error and whether the oldest message is stuck. With the lock held.
void bt_comm_look(bt_comm *);
nccl_comm bt_comm_of_flow(bt_comm *, int from, int to);
