// Package e2e holds the tests of runs across nodes, against the development cluster (scripts/dev-cluster.sh): a real
// slurmctld, real slurmd and sshd, nodes that are cut off, crash and hang, and no fakes. The package has tests only.
//
// They need root, network namespaces and Debian's Slurm, and are skipped elsewhere, with the reason. What they start runs
// as the cluster's unprivileged user. Each test has a cluster to itself; several clusters stand side by side, since tests
// mostly wait.
//
//	BOOST_E2E=1                run them; without it they are skipped (.ci/run says it)
//	BOOST_E2E_CLUSTERS=3       how many clusters, and so how many tests at once
//	BOOST_E2E_CLUSTER=DIR      take the cluster whose SLURM_DEV_DIR this is, and leave it up
//	BOOST_E2E_ROOT=DIR         where clusters are made; short, open to all users (/tmp)
//	BOOST_E2E_BINARY=FILE      test this binary instead of building one
//	BOOST_E2E_TABLE=FILE       append what became of each fault to a file, as rows of Markdown (docs/cluster.md)
//	BOOST_E2E_KEEP=DIR         copy the runs and Slurm's logs of tests that failed to there
//	BOOST_TEST_SEED=N          draw the random faults of that seed again; -run 'RandomFaults/^17$' takes the 17th alone
//	BOOST_TEST_SOAK=1          200 random faults within 50 minutes instead of 10 within 3
//	BOOST_TEST_FAULTS=N        that many random faults
//	BOOST_TEST_WITHIN=TIME     begin none of them after that time, e.g. 45m
//
// Start reading at cluster (cluster_test.go), then at program (program_test.go); the faults stand in faults_test.go.
package e2e
