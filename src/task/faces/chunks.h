// The cost of each chunk of photos of a worker. A chunk is told as soon as it is done, so that a run that is killed has
// left the costs up to then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace evener::task {

/// Photos that one worker did one after the other.
struct FacesChunk {
  int worker = 0;
  std::size_t number = 0;  // of the worker's chunks, from 0
  std::size_t photos = 0, faces = 0;
  double begin_s = 0, seconds = 0;  // begin_s since the run began; seconds from the first photo's begin to the last
                                    // one's end
  double cpu_s = 0;                 // of the worker's own thread, without the engine's threads, which compute for all
                                    // workers
  double process_cpu_s = 0;         // of all threads of the process during these seconds
  std::uint64_t rss_bytes = 0;      // of the process, at the end
};

/// Measures chunks of `photos_a_chunk` photos. Each worker calls begin() and end() around a photo; `tell` is called
/// with each full chunk, by one thread at a time.
class ChunkMeter {
 public:
  ChunkMeter(int workers, std::size_t photos_a_chunk, std::function<void(const FacesChunk&)> tell);

  void begin(int worker);
  void end(int worker, std::size_t faces);
  /// Tells the chunks that have begun and are not full. To be called when the workers have ended.
  void finish();

 private:
  struct Worker {
    FacesChunk chunk;
    double begin_s = 0, thread_s = 0, process_s = 0;  // wall clock, and CPU clocks of thread and process, at the begin
                                                      // of the chunk
  };
  void tell(Worker& worker);

  const std::size_t photos_a_chunk_;
  const std::function<void(const FacesChunk&)> tell_;
  const double run_begin_s_;
  std::vector<Worker> workers_;
  std::mutex mutex_;
};

}  // namespace evener::task
