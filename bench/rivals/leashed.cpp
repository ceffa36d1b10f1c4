// Trains a network of shared-memory-sgd (dcs-chalmers) on MNIST, in one of its modes, and prints a line of JSON: seconds of
// training by pass, CPU seconds of all threads, and the test loss and accuracy after each pass. leashed.py builds and runs it.
//
//   leashed SEQ|SYNC|ASYNC|HOG|LSH mlp|cnn THREADS BATCH RATE PASSES SEED DATA
//
// DATA has train.x, train.y, test.x and test.y: pixels and labels as bytes. Networks, inputs (0 to 255) and initial weights
// (N(0, 0.01^2)) are those of its main.cpp. Its own program tells whole seconds and the loss of the batches only.

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include <MiniDNN.h>

#ifdef PROFILE
extern "C" void __gcov_dump(void);
#endif

// The calls of these two are what leashed.py adds to NetworkExecutor.h.
namespace leashed {
using MiniDNN::ParameterContainer;
static std::vector<double> seconds;
static std::vector<ParameterContainer *> passes;
static double wall, cpu;

static double clock() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
static double used() {
	rusage r;
	getrusage(RUSAGE_SELF, &r);
	return r.ru_utime.tv_sec + r.ru_stime.tv_sec + 1e-6 * (r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

// begin: the batches are there, training begins.
static void begin() { wall = clock(), cpu = used(); }

// pass keeps a copy of the weights at the end of a pass, the newest version, held as a reader holds it.
static void pass(ParameterContainer *volatile *at) {
	static std::mutex one;
	std::lock_guard<std::mutex> lock(one);
	seconds.push_back(clock() - wall);
	ParameterContainer *p;
	for (;;) {
		p = *at;
		p->active_readers.fetch_add(1);
		if (!p->stale_flag.load()) break;
		p->active_readers.fetch_add(-1);
	}
	passes.push_back(new ParameterContainer(*p));
	p->active_readers.fetch_add(-1);
}
} // namespace leashed

#include <NetworkExecutor.h>

using namespace MiniDNN;

static std::vector<unsigned char> bytes(const std::string &path) {
	std::ifstream f(path, std::ios::binary);
	if (!f) { perror(path.c_str()); exit(1); }
	return {std::istreambuf_iterator<char>(f), {}};
}

static void load(const std::string &stem, Matrix &x, Matrix &y) {
	auto pixels = bytes(stem + ".x"), labels = bytes(stem + ".y");
	x.resize(784, labels.size()), y = Matrix::Zero(10, labels.size());
	for (size_t i = 0; i < pixels.size(); i++) x.data()[i] = pixels[i];
	for (size_t i = 0; i < labels.size(); i++) y(labels[i], i) = 1;
}

static void list(const char *name, const std::vector<double> &v) {
	printf("\"%s\": [", name);
	for (size_t i = 0; i < v.size(); i++) printf(std::isfinite(v[i]) ? "%s%.6g" : "%snull", i ? ", " : "", v[i]);
	printf("], ");
}

int main(int argc, char **argv) {
	if (argc != 9) { fprintf(stderr, "usage: leashed MODE mlp|cnn THREADS BATCH RATE PASSES SEED DATA\n"); return 2; }
	std::string mode = argv[1], data = argv[8];
	int threads = atoi(argv[3]), batch = atoi(argv[4]), epochs = atoi(argv[6]), seed = atoi(argv[7]);
	double rate = atof(argv[5]);
	Matrix x, y, tx, ty;
	load(data + "/train", x, y), load(data + "/test", tx, ty);

	NetworkTopology net(new ParameterContainer());
	auto *last = new FullyConnected<Softmax>(128, 10);
	if (std::string(argv[2]) == "mlp") {
		net.add_layer(new FullyConnected<ReLU>(784, 128));
		for (int i = 0; i < 2; i++) net.add_layer(new FullyConnected<ReLU>(128, 128));
	} else {
		net.add_layer(new Convolutional<ReLU>(28, 28, 1, 4, 3, 3));
		net.add_layer(new MaxPooling<ReLU>(26, 26, 4, 2, 2));
		net.add_layer(new Convolutional<ReLU>(13, 13, 4, 8, 3, 3));
		net.add_layer(new MaxPooling<ReLU>(11, 11, 8, 2, 2));
		net.add_layer(new FullyConnected<ReLU>(5 * 5 * 8, 128));
	}
	net.add_layer(last);
	net.set_output(new MultiClassEntropy());
	net.init(0, 0.01, seed);
	SGDM opt;
	opt.initialize_state(net.current_param_container_ptr->param_list.size());
	opt.m_lrate = rate, opt.mu = 0;
	std::vector<Optimizer *> opts;
	for (int i = 0; i < threads; i++) opts.push_back(opt.clone());
	NetworkExecutor<Matrix, Matrix> run(&net, &opt, opts, x, y, "NONE", threads, rate, 0, 0);

	int steps = (x.cols() - 1) / batch + 1; // of a pass
	if (mode == "SEQ") run.run_training(batch, epochs, steps, seed);
	else if (mode == "SYNC") run.run_parallel_sync(batch, epochs, steps / threads, seed); // each takes a batch a step
	else if (mode == "ASYNC" || mode == "HOG") run.run_parallel_async(batch, epochs, steps, seed, mode == "ASYNC");
	else if (mode == "LSH") run.run_parallel_leashed(batch, epochs, steps, 200, false, seed);
	else { fprintf(stderr, "no mode %s\n", argv[1]); return 2; }
	double took = leashed::used() - leashed::cpu, all = leashed::clock() - leashed::wall;
	leashed::seconds.resize(epochs - 1), leashed::passes.resize(epochs - 1); // the last pass ends here, with all steps
	leashed::seconds.push_back(all), leashed::passes.push_back(net.current_param_container_ptr);

	std::vector<double> losses, accuracies;
	for (auto *p : leashed::passes) {
		net.set_pointer(p);
		double loss = 0, right = 0;
		for (int at = 0; at < tx.cols(); at += 1000) {
			int n = std::min<int>(1000, tx.cols() - at);
			net.forward(tx.middleCols(at, n));
			for (int i = 0; i < n; i++) {
				Matrix::Index best, label;
				last->output().col(i).maxCoeff(&best), ty.col(at + i).maxCoeff(&label);
				double q = last->output()(label, i);
				loss -= q > 1e-37 || q != q ? std::log(q) : std::log(1e-37);
				right += best == label;
			}
		}
		losses.push_back(loss / tx.cols()), accuracies.push_back(right / tx.cols());
	}
	std::vector<double> batches(run.get_losses_per_epoch().begin(), run.get_losses_per_epoch().end());
	double late = 0, count = 0, tau = 0;
	for (long n : run.get_tau_dist()) late += tau++ * n, count += n;
	printf("{"), list("to", leashed::seconds), list("losses", losses), list("accuracies", accuracies), list("batch_losses", batches);
	printf("\"examples\": %ld, \"cpu\": %.4f, \"staleness\": %.4f, \"failed_cas\": %ld}\n",
		(long)x.cols() * epochs, took, count ? late / count : 0, run.failed_cas);
	fflush(stdout);
#ifdef PROFILE
	__gcov_dump();
#endif
	_exit(0); // the network frees what its threads have freed
}
