// hogwild-mpi is the only process of a node that speaks MPI. The coordinator of the node starts it,
// as its child: for the launcher the coordinator is a rank of the job, for MPI this process is.
//
// Requests come over a socket, descriptor 3, one packet each, and each gets one packet in reply.
// The numbers and bytes that are moved lie in a memfd, descriptor 4, which both have mapped.
// The coordinator makes it larger before a request that needs more; nobody makes it smaller.
//
// hogwild/nodes/helper.go has the other side. Build: make mpi, or
//
//	mpicc -std=c11 -O2 -Wall -Wextra -o hogwild-mpi hogwild-mpi.c
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PROTOCOL = 2, SOCKET = 3, MEMORY = 4 };

// The calls. All nodes make the same sum, share and leave; send on node i meets receive on node 0. A roll call may
// come while another call waits: that one is called off, and the job is lost.
enum { JOIN, SUM_FLOATS, SUM_DOUBLES, SHARE, SEND, RECEIVE, LEAVE, ROLL_CALL };

// MPI counts in ints, and a sum takes as much memory again: large calls are made in pieces of so many bytes.
enum { PIECE = 64 << 20 };

struct request {
	uint32_t call;
	uint32_t from;   // of RECEIVE: the node
	uint64_t memory; // bytes of the memfd
	uint64_t offset; // in it, bytes
	uint64_t count;  // numbers of a sum, otherwise bytes
};

struct reply {
	uint32_t failed;      // 1: text says why
	uint32_t protocol;
	uint32_t call;        // that is answered
	int32_t node, nodes;  // from here on: of JOIN
	int32_t local, on_host; // place among the nodes of this host, and their number
	char text[484];       // the MPI library; of ROLL_CALL: the silent nodes
};

static char *memory;
static uint64_t mapped; // bytes
static char (*hosts)[64]; // the name of each node's

// fail writes the reason into the reply.
static int fail(struct reply *reply, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(reply->text, sizeof reply->text, format, arguments);
	va_end(arguments);
	reply->failed = 1;
	return -1;
}

// check turns an MPI error code into a failure.
static int check(struct reply *reply, const char *function, int code)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length;
	if (code == MPI_SUCCESS)
		return 0;
	MPI_Error_string(code, text, &length);
	return fail(reply, "%s: %s", function, text);
}

// coordinator_gone ends the job: without its coordinator this node is lost, and the others
// learn it at once.
static void coordinator_gone(void)
{
	int running = 0, over = 0;
	if (MPI_Initialized(&running) == MPI_SUCCESS && MPI_Finalized(&over) == MPI_SUCCESS && running && !over)
		MPI_Abort(MPI_COMM_WORLD, 1);
	_exit(1);
}

// end_soon runs when the coordinator has died: coordinator_gone has as long to tell the others.
static void end_soon(int signal)
{
	(void)signal;
	alarm(2);
}

// finish waits until a transfer of some bytes is over. MPI's own waiting takes a core, which the workers
// need. This looks again after an eighth of the time waited so far, and sleeps in between, in a
// call that notices the coordinator's end. A large transfer stands still while nobody looks.
static int finish(struct reply *reply, const char *function, MPI_Request *request, uint64_t bytes)
{
	enum { AT_ONCE = 20 };
	const long longest = bytes > 64 << 10 ? 50000 : 1000000; // ns
	struct timespec pause = {0, 10000};
	struct pollfd coordinator = {.fd = SOCKET, .events = POLLIN};
	for (int tests = 0, done = 0;; tests++) {
		if (check(reply, function, MPI_Test(request, &done, MPI_STATUS_IGNORE)) != 0)
			return -1;
		if (done)
			return 0;
		if (tests < AT_ONCE)
			continue;
		if (ppoll(&coordinator, 1, &pause, NULL) > 0) {
			if (coordinator.revents != POLLIN)
				coordinator_gone();
			return fail(reply, "%s: called off", function);
		}
		if (pause.tv_nsec < longest)
			pause.tv_nsec += pause.tv_nsec / 8;
	}
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

// sum replaces numbers by their sums over all nodes.
static int sum(const struct request *r, struct reply *reply, MPI_Datatype type, uint64_t size)
{
	MPI_Request request;
	for (uint64_t done = 0, n; done < r->count; done += n) {
		n = least(r->count - done, PIECE / size);
		if (check(reply, "MPI_Iallreduce", MPI_Iallreduce(MPI_IN_PLACE, memory + r->offset + done * size,
			(int)n, type, MPI_SUM, MPI_COMM_WORLD, &request)) != 0 ||
			finish(reply, "MPI_Iallreduce", &request, n * size) != 0)
			return -1;
	}
	return 0;
}

// move starts to move one piece of bytes between nodes.
static int move(const struct request *r, void *piece, int n, MPI_Request *request)
{
	switch (r->call) {
	case SHARE:
		return MPI_Ibcast(piece, n, MPI_BYTE, 0, MPI_COMM_WORLD, request);
	case SEND:
		return MPI_Isend(piece, n, MPI_BYTE, 0, 0, MPI_COMM_WORLD, request);
	default:
		return MPI_Irecv(piece, n, MPI_BYTE, (int)r->from, 0, MPI_COMM_WORLD, request);
	}
}

// move_all moves bytes: node 0's to all nodes, or one node's to node 0.
static int move_all(const struct request *r, struct reply *reply)
{
	MPI_Request request;
	for (uint64_t done = 0, n; done < r->count; done += n) {
		n = least(r->count - done, PIECE);
		if (check(reply, "moving bytes", move(r, memory + r->offset + done, (int)n, &request)) != 0 ||
			finish(reply, "moving bytes", &request, n) != 0)
			return -1;
	}
	return 0;
}

// roll_call has every node say to node 0 that it is there, and node 0 answer. The text names those that have said
// nothing: node 0 sees all of them, the others see only whether it is node 0. It answers when it has heard all that
// it will: a node that has its answer ends, and the launcher then ends the others.
static void roll_call(struct reply *reply)
{
	enum { TAG = 1 };
	const struct timespec pause = {0, 10000000};
	static char mine, theirs; // MPI may use them later
	int me, nodes, missing = 0, silent = 0, heard;
	size_t length = 0;
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &nodes);
	const int first = me == 0 ? 1 : 0, last = me == 0 ? nodes - 1 : 0;
	MPI_Request send, *calls = calloc((size_t)nodes, sizeof *calls);
	for (int i = first; i <= last && calls != NULL; i++) {
		if (me != 0)
			MPI_Isend(&mine, 1, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &send);
		MPI_Irecv(&theirs, 1, MPI_BYTE, i, TAG, MPI_COMM_WORLD, &calls[i]);
		missing++;
	}
	const double end = MPI_Wtime() + (me == 0 ? 3 : 6); // node 0 may begin later
	for (int late = 0; missing > 0 && !late; nanosleep(&pause, NULL)) {
		late = MPI_Wtime() > end; // a last look follows
		for (int i = first; i <= last; i++) {
			if (calls[i] == MPI_REQUEST_NULL || MPI_Test(&calls[i], &heard, MPI_STATUS_IGNORE) != MPI_SUCCESS || !heard)
				continue;
			missing--;
		}
	}
	for (int i = first; i <= last && calls != NULL; i++)
		if (calls[i] == MPI_REQUEST_NULL && me == 0)
			MPI_Isend(&mine, 1, MPI_BYTE, i, TAG, MPI_COMM_WORLD, &send);
		else if (calls[i] != MPI_REQUEST_NULL && silent++ < 5)
			length += (size_t)snprintf(reply->text + length, sizeof reply->text - length, "%snode %d (%.63s)",
				length > 0 ? ", " : "", i, hosts[i]);
	if (silent > 5)
		snprintf(reply->text + length, sizeof reply->text - length, " and %d more", silent - 5);
}

// join enters the job.
static int join(struct reply *reply)
{
	MPI_Comm host;
	int version, length;
	char name[sizeof hosts[0]] = "";
	gethostname(name, sizeof name - 1);
	char library[MPI_MAX_LIBRARY_VERSION_STRING];
	if (check(reply, "MPI_Init", MPI_Init(NULL, NULL)) != 0 ||
		check(reply, "MPI_Comm_set_errhandler", MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)) != 0 ||
		check(reply, "MPI_Comm_rank", MPI_Comm_rank(MPI_COMM_WORLD, &reply->node)) != 0 ||
		check(reply, "MPI_Comm_size", MPI_Comm_size(MPI_COMM_WORLD, &reply->nodes)) != 0 ||
		check(reply, "MPI_Comm_split_type", MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host)) != 0 ||
		check(reply, "MPI_Comm_rank", MPI_Comm_rank(host, &reply->local)) != 0 ||
		check(reply, "MPI_Comm_size", MPI_Comm_size(host, &reply->on_host)) != 0 ||
		check(reply, "MPI_Comm_free", MPI_Comm_free(&host)) != 0 ||
		(hosts = calloc((size_t)reply->nodes, sizeof name)) == NULL ||
		check(reply, "MPI_Allgather", MPI_Allgather(name, sizeof name, MPI_CHAR, hosts, sizeof name, MPI_CHAR, MPI_COMM_WORLD)) != 0 ||
		check(reply, "MPI_Get_library_version", MPI_Get_library_version(library, &version)) != 0)
		return -1;
	length = (int)strcspn(library, "\n");
	snprintf(reply->text, sizeof reply->text, "%.*s", length, library);
	return 0;
}

// map maps the memory as large as it is now.
static int map(const struct request *r, struct reply *reply)
{
	if (r->memory <= mapped)
		return 0;
	void *larger = mapped == 0 ? mmap(NULL, r->memory, PROT_READ | PROT_WRITE, MAP_SHARED, MEMORY, 0)
		: mremap(memory, mapped, r->memory, MREMAP_MAYMOVE);
	if (larger == MAP_FAILED)
		return fail(reply, "mapping %llu bytes: %s", (unsigned long long)r->memory, strerror(errno));
	memory = larger;
	mapped = r->memory;
	return 0;
}

// answer carries out one request. What fails is in the reply.
static void answer(const struct request *r, struct reply *reply)
{
	const uint64_t size = r->call == SUM_FLOATS ? sizeof(float) : r->call == SUM_DOUBLES ? sizeof(double) : 1;
	if (map(r, reply) != 0)
		return;
	if (r->offset > mapped || r->count > (mapped - r->offset) / size) {
		fail(reply, "call %u lies outside the memory", (unsigned)r->call);
		return;
	}
	switch (r->call) {
	case JOIN:
		join(reply);
		break;
	case SUM_FLOATS:
		sum(r, reply, MPI_FLOAT, size);
		break;
	case SUM_DOUBLES:
		sum(r, reply, MPI_DOUBLE, size);
		break;
	case SHARE:
	case SEND:
	case RECEIVE:
		move_all(r, reply);
		break;
	case ROLL_CALL:
		roll_call(reply);
		break;
	case LEAVE:
		check(reply, "MPI_Finalize", MPI_Finalize());
		break;
	default:
		fail(reply, "there is no call %u", (unsigned)r->call);
	}
}

int main(void)
{
	struct request request;
	const pid_t coordinator = getppid();
	const int orphaned = SIGRTMAX; // used by no MPI library
	// The coordinator decides when a run ends. These signals go to the whole process group.
	if (signal(SIGINT, SIG_IGN) == SIG_ERR || signal(SIGTERM, SIG_IGN) == SIG_ERR || signal(SIGHUP, SIG_IGN) == SIG_ERR ||
		signal(orphaned, end_soon) == SIG_ERR || prctl(PR_SET_PDEATHSIG, orphaned) != 0) {
		perror("hogwild-mpi");
		return 1;
	}
	if (getppid() != coordinator) // it died before the prctl
		return 1;
	for (;;) {
		struct reply reply = {.protocol = PROTOCOL};
		ssize_t n = recv(SOCKET, &request, sizeof request, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EBADF || errno == ENOTSOCK)) {
			fprintf(stderr, "hogwild-mpi: hogwild train starts this program\n");
			return 2;
		}
		if (n != sizeof request)
			coordinator_gone();
		reply.call = request.call;
		answer(&request, &reply);
		if (send(SOCKET, &reply, sizeof reply, MSG_NOSIGNAL) != sizeof reply)
			coordinator_gone();
		if (request.call == LEAVE)
			return 0;
	}
}
