#include "data/area_resize.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace evener::data {
namespace {

struct Window {
  std::int64_t begin = 0, end = 0;
};

Window window_of(std::int64_t output, std::int64_t outputs, std::int64_t inputs) {
  return {output * inputs / outputs, ((output + 1) * inputs + outputs - 1) / outputs};
}

}  // namespace

AreaRows::AreaRows(const Picture& picture, const PictureArea& area, std::int64_t height, std::int64_t width)
    : picture_(picture), area_(area), height_(height) {
  const bool within = area.x >= 0 && area.y >= 0 && area.width > 0 && area.height > 0 &&
                      area.x + area.width <= picture.width && area.y + area.height <= picture.height;
  if (!within || height < 1 || width < 1) throw Error("a part that is not within a picture was asked for");
  for (std::int64_t x = 0; x < width; ++x) {
    const Window window = window_of(x, width, area.width);
    windows_.first.push_back(static_cast<std::int32_t>(window.begin * picture.channels));
    windows_.count.push_back(static_cast<std::int32_t>(window.end - window.begin));
    windows_.widths.push_back(static_cast<float>(windows_.count.back()));
  }
}

void AreaRows::write(std::int64_t y, std::span<float* const> planes) {
  const auto [begin, end] = window_of(y, height_, area_.height);
  const std::uint8_t* const first = picture_.row(area_.y + begin) + area_.x * picture_.channels;
  if (picture_.channels == 1 || end - begin > kMostSummedRows || area_.width > kMostWindowPixels) {
    write_any(first, end - begin, planes);
    return;
  }
  const auto values = static_cast<std::size_t>(area_.width) * kColours;
  few_.resize(values + kSumSlack);
  const AreaKernels& kernels = area_kernels();
  kernels.add_rows(first, static_cast<std::size_t>(picture_.width) * kColours, end - begin, values, few_.data());
  kernels.colour_means(few_.data(), windows_, static_cast<float>(end - begin), planes.data());
}

// Sums stay whole numbers, so they are exact; only the mean is rounded.
void AreaRows::write_any(const std::uint8_t* in, std::int64_t rows, std::span<float* const> planes) {
  const std::int64_t channels = picture_.channels;
  many_.assign(static_cast<std::size_t>(area_.width * channels), 0);
  for (std::int64_t row = 0; row < rows; ++row, in += picture_.width * channels) {
    for (std::size_t i = 0; i < many_.size(); ++i) many_[i] += in[i];
  }
  for (std::size_t c = 0; c < planes.size(); ++c) {
    if (c >= static_cast<std::size_t>(channels)) {  // grey
      std::copy_n(planes[0], windows_.count.size(), planes[c]);
      continue;
    }
    for (std::size_t x = 0; x < windows_.count.size(); ++x) {
      const std::uint32_t* value = many_.data() + windows_.first[x] + c;
      std::uint32_t sum = 0;
      for (std::int32_t i = 0; i < windows_.count[x]; ++i, value += channels) sum += *value;
      planes[c][x] = static_cast<float>(sum) / (windows_.widths[x] * static_cast<float>(rows));
    }
  }
}

void area_resize(const Picture& picture, const PictureArea& area, std::int64_t height, std::int64_t width,
                 std::span<float> chw) {
  AreaRows rows(picture, area, height, width);
  const auto plane = static_cast<std::size_t>(height * width);
  if (chw.size() != kColours * plane) throw Error("a resized part was given memory of another size");
  for (std::int64_t y = 0; y < height; ++y) {
    float* const first = chw.data() + y * width;
    rows.write(y, std::array{first, first + plane, first + 2 * plane});
  }
}

}  // namespace evener::data
