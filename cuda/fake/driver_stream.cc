// driver_stream.cc: streams, each a queue with a thread, and events, each a moment in a
// stream. Work waits for moments that were queued before it, so nothing waits in a circle.
#include <signal.h>

#include <chrono>

#include "driver_state.h"

namespace driver {

Stream::Stream(Context* context, unsigned flags, int priority) : context(context), flags(flags), priority(priority) {}

uint64_t Stream::push(std::vector<Point> after, std::function<void()> work) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!thread_.joinable()) {
    // The program's signals are not for this thread, except for its own crashes.
    sigset_t all, old;
    sigfillset(&all);
    for (int crash : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) sigdelset(&all, crash);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    thread_ = std::thread(&Stream::loop, this);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  }
  queue_.push_back({std::move(after), std::move(work)});
  changed_.notify_all();
  return ++queued_;
}

void Stream::loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    for (const Point& point : work.after) point.wait();
    work.run();
    work = {};  // what it holds goes before it counts as done
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

uint64_t Stream::last() {
  std::lock_guard<std::mutex> lock(mutex_);
  return queued_;
}

bool Stream::done(uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  return done_ >= number;
}

void Stream::wait(uint64_t number) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return done_ >= number; });
}

void Stream::close() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void wait_longer() { std::this_thread::sleep_for(std::chrono::milliseconds(settings().slow_waits_ms)); }

std::shared_ptr<Stream> stream_of(CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return current().legacy;
  require(handle != CU_STREAM_PER_THREAD, CUDA_ERROR_NOT_SUPPORTED, "the per-thread default stream is not played");
  return state().streams.get(handle, CUDA_ERROR_INVALID_HANDLE, "no such stream");
}

namespace {

std::shared_ptr<Event> event_of(CUevent handle) {
  return state().events.get(handle, CUDA_ERROR_INVALID_HANDLE, "no such event");
}

std::shared_ptr<Event::Mark> mark_of(Event& event) {
  std::lock_guard<std::mutex> lock(event.mutex);
  return event.mark;
}

double milliseconds() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

void create(Call& call, CUstream* handle, unsigned flags, int priority) {
  Context& context = current();
  call.number("flags", flags);
  require((flags & ~CU_STREAM_NON_BLOCKING) == 0, CUDA_ERROR_INVALID_VALUE, "unknown flags");
  auto stream = std::make_shared<Stream>(&context, flags, priority);
  context.add_stream(stream);
  *handle = state().streams.add<CUstream>(stream);
  call.address("stream", host(*handle));
}

}  // namespace
}  // namespace driver

using namespace driver;

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return api(__func__, [&](Call& call) { create(call, stream, flags, 0); });
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return api(__func__, [&](Call& call) { create(call, stream, flags, std::max(-5, std::min(0, priority))); });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return api(__func__, [&](Call&) {
    current();
    if (least) *least = 0;
    if (greatest) *greatest = -5;
  });
}

CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return api(__func__, [&](Call&) { *priority = stream_of(stream)->priority; });
}

CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags) {
  return api(__func__, [&](Call&) { *flags = stream_of(stream)->flags; });
}

CUresult cuStreamDestroy(CUstream handle) {
  return api(__func__, [&](Call&) {
    require(handle != nullptr, CUDA_ERROR_INVALID_HANDLE, "the default stream cannot be destroyed");
    std::shared_ptr<Stream> stream = stream_of(handle);
    state().streams.take([&](const Stream& s) { return &s == stream.get(); });
    stream->close();
    stream->context->remove_stream(stream.get());
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return api(__func__, [&](Call&) {
    std::shared_ptr<Stream> stream = stream_of(handle);
    refuse_fault();
    require(stream->done(stream->last()), CUDA_ERROR_NOT_READY, "work is left in the stream");
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return api(__func__, [&](Call&) {
    std::shared_ptr<Stream> stream = stream_of(handle);
    stream->wait(stream->last());
    wait_longer();
    refuse_fault();
  });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int) {
  return api(__func__, [&](Call&) {
    std::shared_ptr<Stream> stream = stream_of(handle);
    std::shared_ptr<Event::Mark> mark = mark_of(*event_of(event));
    if (mark) stream->context->enqueue(stream, [] {}, {mark->point});
  });
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* data, unsigned int flags) {
  return api(__func__, [&](Call&) {
    require(flags == 0 && callback, CUDA_ERROR_INVALID_VALUE, "no callback, or flags that are not 0");
    std::shared_ptr<Stream> stream = stream_of(handle);
    Context* context = stream->context;
    context->enqueue(stream, [=] {
      in_callback = true;
      callback(handle, static_cast<CUresult>(state().fault.load()), data);
      in_callback = false;
    });
  });
}

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  return api(__func__, [&](Call& call) {
    Context& context = current();
    call.number("flags", flags);
    require((flags & ~(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING)) == 0, CUDA_ERROR_NOT_SUPPORTED,
            "events between processes are not played");
    auto created = std::make_shared<Event>();
    created->context = &context;
    created->flags = flags;
    *event = state().events.add<CUevent>(created);
  });
}

CUresult cuEventDestroy(CUevent handle) {
  return api(__func__, [&](Call&) {
    std::shared_ptr<Event> event = event_of(handle);
    state().events.take([&](const Event& e) { return &e == event.get(); });
  });
}

CUresult cuEventRecord(CUevent handle, CUstream in) {
  return api(__func__, [&](Call&) {
    std::shared_ptr<Event> event = event_of(handle);
    std::shared_ptr<Stream> stream = stream_of(in);
    require(event->context == stream->context, CUDA_ERROR_INVALID_HANDLE, "event and stream are of different contexts");
    refuse_fault();
    auto mark = std::make_shared<Event::Mark>();
    mark->point = stream->context->enqueue(stream, [mark] { mark->milliseconds = milliseconds(); });
    std::lock_guard<std::mutex> lock(event->mutex);
    event->mark = mark;
  });
}

CUresult cuEventQuery(CUevent handle) {
  return api(__func__, [&](Call&) {
    std::shared_ptr<Event> event = event_of(handle);
    std::shared_ptr<Event::Mark> mark = mark_of(*event);
    refuse_fault();
    require(!mark || mark->point.reached(), CUDA_ERROR_NOT_READY, "not reached yet");
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return api(__func__, [&](Call&) {
    std::shared_ptr<Event> event = event_of(handle);
    if (std::shared_ptr<Event::Mark> mark = mark_of(*event)) mark->point.wait();
    wait_longer();
    refuse_fault();
  });
}

CUresult cuEventElapsedTime(float* elapsed, CUevent from, CUevent to) {
  return api(__func__, [&](Call&) {
    std::shared_ptr<Event> first = event_of(from), second = event_of(to);
    std::shared_ptr<Event::Mark> begin = mark_of(*first), end = mark_of(*second);
    refuse_fault();
    require(begin && end, CUDA_ERROR_INVALID_HANDLE, "an event was never recorded");
    require(!((first->flags | second->flags) & CU_EVENT_DISABLE_TIMING), CUDA_ERROR_INVALID_HANDLE,
            "an event was made without timing");
    require(begin->point.reached() && end->point.reached(), CUDA_ERROR_NOT_READY, "not reached yet");
    *elapsed = static_cast<float>(end->milliseconds - begin->milliseconds);
  });
}
