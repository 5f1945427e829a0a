// Room in memory for photos that are looked at together: a large one waits until others have left.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "data/codecs/decode.h"

namespace evener::task {

/// What decoding a photo takes at most, with its file: coefficients of a progressive JPEG file, and a copy where it has
/// to be turned. `looked_at_turned`: copies of it are looked at as well, see find_turned.
std::uint64_t decoding_bytes(const data::PictureHeader& header, std::uint64_t file_bytes, bool looked_at_turned);

/// Shared by the threads that look at photos.
class PhotoRoom {
 public:
  /// `bytes` for all together; 0: as much as they want.
  explicit PhotoRoom(std::uint64_t bytes = 0) : bytes_(bytes) {}

  /// Room that is given back at its end.
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
  /// Reads a file, and waits until there is room for it decoded. Where room is scarce, one file is read at a time.
  /// Throws Error with the reason alone: as read_image_file, or the photo takes more than there is for all.
  Entered enter(const std::string& path, bool looked_at_turned);

  /// Something that stays takes room as well, until forget().
  void keep(std::uint64_t bytes);
  void forget();

 private:
  void leave(std::uint64_t bytes);

  const std::uint64_t bytes_;
  std::mutex turn_;  // of those who wait to enter
  std::mutex mutex_;
  std::condition_variable left_;
  std::uint64_t used_ = 0, kept_ = 0;
};

}  // namespace evener::task
