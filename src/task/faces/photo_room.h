// Bounds the memory of photos that are decoded at the same time: a large photo waits until others are done.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "data/codecs/decode.h"

namespace evener::task {

/// The most memory that decoding a photo takes, its file included: pixels, the coefficients of a progressive JPEG file,
/// and a copy where it has to be turned upright. `looked_at_turned`: turned copies are looked at as well, see
/// find_turned.
std::uint64_t decoding_bytes(const data::PictureHeader& header, std::uint64_t file_bytes, bool looked_at_turned);

/// Shared by the threads that look at photos.
class PhotoRoom {
 public:
  /// `bytes`: the limit for all photos together; 0 = none.
  explicit PhotoRoom(std::uint64_t bytes = 0) : bytes_(bytes) {}

  /// Reserved memory, which is given back by the destructor.
  class Place {
   public:
    Place() = default;
    Place(PhotoRoom& room, std::uint64_t bytes) : room_(&room), bytes_(bytes) {}
    Place(Place&& other) noexcept : room_(std::exchange(other.room_, nullptr)), bytes_(other.bytes_) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (room_ != nullptr) room_->leave(bytes_);
    }

   private:
    PhotoRoom* room_ = nullptr;
    std::uint64_t bytes_ = 0;
  };

  struct Entered {
    std::string file;  // its bytes
    Place place;
  };
  /// Reads a file, and waits until there is room to decode it. Where the memory is limited, one file is read at a time.
  /// Throws Error with the reason alone: as read_image_file does, or since the photo takes more than the whole limit.
  Entered enter(const std::string& path, bool looked_at_turned);

  /// Reserves `bytes` for something that stays in memory, until forget().
  void keep(std::uint64_t bytes);
  void forget();

 private:
  void leave(std::uint64_t bytes);

  const std::uint64_t bytes_;
  std::mutex turn_;  // held while a thread waits to enter
  std::mutex mutex_;
  std::condition_variable left_;
  std::uint64_t used_ = 0, kept_ = 0;
};

}  // namespace evener::task
