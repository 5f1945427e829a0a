#include "task/faces/chunks.h"

#include <ctime>
#include <utility>

#include "base/clock.h"
#include "base/memory.h"

namespace evener::task {
namespace {

double clock_s(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

ChunkMeter::ChunkMeter(int workers, std::size_t photos_a_chunk, std::function<void(const FacesChunk&)> tell)
    : photos_a_chunk_(photos_a_chunk), tell_(std::move(tell)), run_begin_s_(now_s()) {
  for (int i = 0; i < workers; ++i) {
    workers_.emplace_back();
    workers_.back().chunk.worker = i;
  }
}

void ChunkMeter::begin(int worker) {
  Worker& of = workers_[static_cast<std::size_t>(worker)];
  if (of.chunk.photos > 0) return;
  of.begin_s = now_s();
  of.thread_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
  of.process_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
}

void ChunkMeter::end(int worker, std::size_t faces) {
  Worker& of = workers_[static_cast<std::size_t>(worker)];
  ++of.chunk.photos;
  of.chunk.faces += faces;
  of.chunk.begin_s = of.begin_s - run_begin_s_;
  of.chunk.seconds = now_s() - of.begin_s;
  of.chunk.cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID) - of.thread_s;
  of.chunk.process_cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - of.process_s;
  if (of.chunk.photos == photos_a_chunk_) tell(of);
}

void ChunkMeter::finish() {
  for (Worker& worker : workers_) {
    if (worker.chunk.photos > 0) tell(worker);
  }
}

void ChunkMeter::tell(Worker& worker) {
  worker.chunk.rss_bytes = process_memory().resident_bytes;
  {
    const std::scoped_lock lock(mutex_);
    if (tell_) tell_(worker.chunk);
  }
  worker.chunk = {.worker = worker.chunk.worker, .number = worker.chunk.number + 1};
}

}  // namespace evener::task
