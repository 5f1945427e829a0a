// Bounds the memory of photos that are decoded at the same time, as a large photo waits until others are done; and
// tells the cost of each chunk of photos of a worker, as soon as it is done, so that a run that is killed has left the
// costs up to then.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/codecs/decode.h"

namespace evener::faces {

/// The most memory that decoding a photo takes, its file included: pixels, the coefficients of a progressive JPEG file,
/// and a copy where it has to be turned upright. `looked_at_turned`: turned copies are looked at as well, see
/// find_turned.
std::uint64_t decoding_bytes(const data::PictureHeader& header, std::uint64_t file_bytes, bool looked_at_turned);

/// Shared by the threads that look at photos.
class PhotoRoom {
 public:
  /// `bytes`: the limit for all photos together; 0 = none.
  explicit PhotoRoom(std::uint64_t bytes = 0) : bytes_(bytes) {}

  struct Entered {
    std::string file;             // its bytes
    std::shared_ptr<void> place;  // reserved memory, which is given back with it
  };
  /// Reads a file, and waits until there is room to decode it. Where the memory is limited, one file is read at a time.
  /// Throws Error with the reason alone: as read_image_file does, or since the photo takes more than the whole limit.
  Entered enter(const std::string& path, bool looked_at_turned);

  /// Reserves `bytes` for something that stays in memory, until forget().
  void keep(std::uint64_t bytes);
  void forget();

 private:
  const std::uint64_t bytes_;
  std::mutex turn_;  // held while a thread waits to enter
  std::mutex mutex_;
  std::condition_variable left_;
  std::uint64_t used_ = 0, kept_ = 0;
};

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

}  // namespace evener::faces
