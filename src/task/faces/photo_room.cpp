#include "task/faces/photo_room.h"

#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "data/image_files.h"

namespace evener::task {

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
  return {std::move(file), Place(*this, bytes)};
}

void PhotoRoom::keep(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  kept_ += bytes;
}

void PhotoRoom::forget() {
  const std::scoped_lock lock(mutex_);
  kept_ = 0;
}

void PhotoRoom::leave(std::uint64_t bytes) {
  {
    const std::scoped_lock lock(mutex_);
    used_ -= bytes;
  }
  left_.notify_all();
}

}  // namespace evener::task
