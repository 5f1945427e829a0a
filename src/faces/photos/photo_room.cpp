#include "faces/photos/photo_room.h"

#include <ctime>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/names.h"
#include "data/image_files.h"

namespace evener::faces {
namespace {

double clock_s(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

std::uint64_t decoding_bytes(const data::PictureHeader& header, std::uint64_t file_bytes, bool looked_at_turned) {
  const auto bytes = static_cast<std::uint64_t>(header.channels * header.height * header.width);
  // The picture with coefficients of two bytes each, or with itself before it was turned upright, or what its decoder
  // needs; find_turned() holds it in up to three orientations at once.
  return file_bytes + (static_cast<std::uint64_t>(header.copies) + (looked_at_turned ? 1 : 0)) * bytes;
}

PhotoRoom::Entered PhotoRoom::enter(const std::string& path, bool looked_at_turned) {
  if (bytes_ == 0) return {data::read_image_file(path), {}};
  const std::scoped_lock turn(turn_);
  std::string file = data::read_image_file(path);
  const std::uint64_t bytes = decoding_bytes(data::read_picture_header(file), file.size(), looked_at_turned);
  std::unique_lock lock(mutex_);
  left_.wait(lock, [&] { return bytes + kept_ > bytes_ || used_ + bytes + kept_ <= bytes_; });
  if (bytes + kept_ > bytes_) {
    throw Error("looking at it takes " + bytes_text(bytes) + " of memory, and --memory leaves " +
                bytes_text(bytes_ > kept_ ? bytes_ - kept_ : 0) + " for photos: give more");
  }
  used_ += bytes;
  lock.unlock();
  const auto leave = [this, bytes](void*) {
    {
      const std::scoped_lock used(mutex_);
      used_ -= bytes;
    }
    left_.notify_all();
  };
  return {std::move(file), std::shared_ptr<void>(this, leave)};
}

void PhotoRoom::keep(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  kept_ += bytes;
}

void PhotoRoom::forget() {
  const std::scoped_lock lock(mutex_);
  kept_ = 0;
}

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

}  // namespace evener::faces
