#include "data/sources/loaded_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/content_hash.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/phase.h"
#include "base/plural.h"
#include "base/stop.h"
#include "data/image_files.h"
#include "data/resize.h"
#include "data/skipped.h"
#include "data/sources/source.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

/// The smallest, the largest and the median image size, by the number of pixels.
struct SizesFound {
  std::size_t looked_at = 0;
  ImageShape smallest, median, largest;
};

SizesFound sizes_of(std::vector<ImageShape> found) {
  if (found.empty()) return {};
  const auto pixels = [](const ImageShape& shape) { return shape.height * shape.width; };
  std::ranges::stable_sort(found, {}, pixels);
  return {found.size(), found.front(), found[found.size() / 2], found.back()};
}

std::string size_text(const ImageShape& shape) {
  return std::to_string(shape.width) + "x" + std::to_string(shape.height);
}

/// Tells that images of different sizes are all brought to the first one's, where nobody chose a size.
void tell_sizes(const SizesFound& sizes, const ImageShape& shape, std::vector<std::string>& notes) {
  if (sizes.looked_at == 0 || sizes.smallest == sizes.largest) return;
  const std::string smaller = smaller_size(sizes.median), other = smaller.empty() ? size_text(sizes.median) : smaller;
  notes.push_back("the images differ in size (" + size_text(sizes.smallest) + " to " + size_text(sizes.largest) +
                  " pixels in " + std::to_string(sizes.looked_at) + " that were looked at) and are all brought to " +
                  size_text(shape) + ", the first one's; another size is chosen with --size, such as --size " + other);
}

struct LoadedImage {
  PictureExtent extent;
  std::uint64_t content = 0;  // see Dataset::content
};

/// Reads one file, preprocesses it by `steps` into `chw`, and adds it to `deep`, which may be null. Throws Error with
/// the reason alone.
LoadedImage load_image(const fs::path& path, const Preprocessing& steps, DecodeMode mode, std::span<std::uint8_t> chw,
                       DeepImages* deep = nullptr) {
  const std::string file = read_image_file(path);
  const PhaseMark mark(Phase::kDecode);
  PictureExtent extent;
  Picture picture;
  if (mode == DecodeMode::kFast) {
    const PictureHeader header = read_picture_header(file);
    extent = {header.width, header.height};
    picture = decode_picture_fast(file, steps.shape.height, steps.shape.width);
  } else {
    picture = decode_picture(file);
    extent = {picture.width, picture.height};
  }
  if (deep != nullptr) deep->add(picture);
  preprocess(std::move(picture), steps, chw);
  return {extent, content_hash(file)};
}

}  // namespace

void DeepImages::add(const Picture& picture) {
  if (!picture.largest_of_16_bits) return;
  const std::uint16_t value = *picture.largest_of_16_bits;
  ++images_;
  if (value < 256) ++black_;
  std::uint16_t known = largest_;
  while (known < value && !largest_.compare_exchange_weak(known, value)) {
  }
}

std::vector<std::string> DeepImages::notes() const {
  constexpr std::uint16_t kEnough = 1 << 14;  // a quarter of what there is, as in dark pictures
  const std::size_t images = images_, black = black_;
  const std::uint16_t largest = largest_;
  if (images == 0 || (black == 0 && largest >= kEnough)) return {};
  const std::string what = fmt::format("{} of 16 bits per channel", counted(images, "image"));
  const std::string advice =
      largest >= kEnough || largest == 0
          ? std::string("scale their values before")
          : fmt::format("multiply all values by {} before, as with ImageMagick's -evaluate multiply {}",
                        65536 / static_cast<int>(std::bit_ceil(largest + 1U)),
                        65536 / static_cast<int>(std::bit_ceil(largest + 1U)));
  if (black > 0) {
    return {
        fmt::format("{} of {} {} no value above 255, so that nothing is left of {} in the upper 8 bits, which are "
                    "kept: to a network {} black (largest value of all: {}); {}",
                    black, what, black == 1 ? "has" : "have", black == 1 ? "it" : "them",
                    black == 1 ? "it is" : "they are", largest, advice)};
  }
  return {fmt::format("{} {} no value above {}: of the 256 values of the upper 8 bits, which are kept, {} are used; {}",
                      what, images == 1 ? "has" : "have", largest, largest / 256 + 1, advice)};
}

PixelCache::PixelCache(std::size_t samples, std::size_t bytes_per_sample, std::size_t limit_bytes)
    : bytes_per_sample_(bytes_per_sample),
      capacity_(std::min(samples, limit_bytes / std::max<std::size_t>(bytes_per_sample, 1))),
      pixels_(static_cast<std::uint8_t*>(allocate_pages(capacity_ * bytes_per_sample)), &std::free),
      states_(std::make_unique<std::atomic<State>[]>(capacity_)) {}

const std::uint8_t* PixelCache::find(std::size_t sample) const {
  if (sample >= capacity_ || states_[sample].load(std::memory_order_acquire) != State::kReady) return nullptr;
  return pixels_.get() + sample * bytes_per_sample_;
}

bool PixelCache::load(std::size_t sample, std::span<std::uint8_t> out) const {
  const std::uint8_t* pixels = find(sample);
  if (pixels == nullptr) return false;
  std::memcpy(out.data(), pixels, bytes_per_sample_);
  return true;
}

void PixelCache::store(std::size_t sample, std::span<const std::uint8_t> pixels) {
  if (sample >= capacity_) return;
  State expected = State::kEmpty;
  if (!states_[sample].compare_exchange_strong(expected, State::kFilling)) return;
  std::memcpy(pixels_.get() + sample * bytes_per_sample_, pixels.data(), bytes_per_sample_);
  states_[sample].store(State::kReady, std::memory_order_release);
}

std::optional<PictureHeader> header_of(const fs::path& path) {
  try {
    return read_picture_header(read_image_file(path));
  } catch (const Error&) {
    return std::nullopt;
  }
}

ImageShape choose_shape(const std::vector<fs::path>& files, const DataOptions& options,
                        std::vector<std::string>& notes) {
  ImageShape shape{options.channels.value_or(0), options.height.value_or(0), options.width.value_or(0)};
  for (std::size_t i = 0; i < files.size() && (shape.width == 0 || shape.height == 0); ++i) {
    if (stop_requested()) throw Interrupted("stopped while looking for a readable image");  // all may be bad
    const std::optional<PictureHeader> header = header_of(files[i]);
    if (!header || header->width > kMaxExtent || header->height > kMaxExtent) continue;
    if (shape.width == 0) shape.width = header->width;
    if (shape.height == 0) shape.height = header->height;
  }
  constexpr std::size_t kLooks = 64;
  const std::size_t looks = std::min(files.size(), kLooks);
  const bool needs_channels = !options.channels, needs_size = !options.width && !options.height;
  std::vector<ImageShape> found;
  for (std::size_t i = 0; i < looks && (needs_size || (needs_channels && shape.channels != 3)); ++i) {
    if (stop_requested()) throw Interrupted("stopped while looking at the sizes of images");
    const std::optional<PictureHeader> header = header_of(files[i * files.size() / looks]);
    if (!header) continue;
    if (needs_channels && shape.channels != 3) shape.channels = header->channels;
    found.push_back({1, header->height, header->width});
  }
  // Without a single readable header nothing will be decoded, and the error comes from there.
  shape.channels = std::max<std::int64_t>(shape.channels, 1);
  shape.height = std::max<std::int64_t>(shape.height, 1);
  shape.width = std::max<std::int64_t>(shape.width, 1);
  if (needs_size) tell_sizes(sizes_of(std::move(found)), shape, notes);
  return shape;
}

LoadedFiles::LoadedFiles(std::vector<fs::path> files, const ImageShape& shape, const DataOptions& options)
    : paths(std::move(files)),
      steps{shape, options.crop, options.crop_fraction, options.filter, options.keeps_fitting},
      mode(options.decode),
      cache(paths.size(), shape.bytes(), options.cache_limit_bytes),
      reasons(paths.size()),
      extents(paths.size()) {}

void LoadedFiles::for_each(const DataOptions& options, const std::function<void(std::size_t file)>& work) {
  const auto try_it = [&](std::size_t file) { reasons[file] = failure_of([&] { work(file); }, "decode it"); };
  if (options.deal) {
    options.deal(paths.size(), try_it);
  } else {
    for_each_index(paths.size(), options.threads, try_it, options.progress);
  }
}

void LoadedFiles::decode_all(const DataOptions& options) {
  contents.resize(paths.size());
  for_each(options, [this](std::size_t file) {
    thread_local std::vector<std::uint8_t> pixels;
    pixels.resize(steps.shape.bytes());
    const LoadedImage loaded = load_image(paths[file], steps, mode, pixels, &deep);
    extents[file] = loaded.extent;
    contents[file] = loaded.content;
    cache.store(file, pixels);
  });
}

void LoadedFiles::read(std::size_t file, std::span<std::uint8_t> chw) const {
  if (cache.load(file, chw)) return;
  try {
    load_image(paths[file], steps, mode, chw);
  } catch (const Error& error) {
    throw Error("the image '" + paths[file].string() + "' could be read at the start, but no longer: " + error.what());
  }
}

}  // namespace evener::data
