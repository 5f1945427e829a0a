#include "data/area_resize.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace evener::data {
namespace {

constexpr std::size_t kColours = 3;
constexpr std::int64_t kFewRows = 65535 / 255;  // of which a sum fits into 16 bits

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
    first_.push_back(static_cast<std::int32_t>(window.begin * picture.channels));
    count_.push_back(static_cast<std::int32_t>(window.end - window.begin));
    widths_.push_back(static_cast<float>(count_.back()));
  }
}

// Sums stay whole numbers, so they are exact; only the mean is rounded.
template <class Sum>
void AreaRows::add(std::int64_t begin, std::int64_t end, std::vector<Sum>& sums) const {
  const auto row = [&](std::int64_t y) { return picture_.row(area_.y + y) + area_.x * picture_.channels; };
  sums.assign(row(begin), row(begin) + area_.width * picture_.channels);
  for (std::int64_t y = begin + 1; y < end; ++y) {
    const std::uint8_t* in = row(y);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<Sum>(sums[i] + in[i]);
  }
}

template <int kChannels, class Sum>
void AreaRows::write_sums(const std::vector<Sum>& sums, std::span<float* const> planes) const {
  for (std::size_t x = 0; x < first_.size(); ++x) {
    const Sum* value = sums.data() + first_[x];
    std::array<std::uint32_t, kChannels> sum{};
    for (std::int32_t i = 0; i < count_[x]; ++i, value += kChannels) {
      for (std::size_t c = 0; c < kChannels; ++c) sum[c] += value[c];
    }
    for (std::size_t c = 0; c < kChannels; ++c) planes[c][x] = static_cast<float>(sum[c]);
  }
}

template <class Sum>
void AreaRows::write_rows(std::int64_t begin, std::int64_t end, std::vector<Sum>& sums,
                          std::span<float* const> planes) const {
  add(begin, end, sums);
  if (picture_.channels == 1) {
    write_sums<1>(sums, planes);
  } else {
    write_sums<kColours>(sums, planes);
  }
}

void AreaRows::write(std::int64_t y, std::span<float* const> planes) {
  const auto [begin, end] = window_of(y, height_, area_.height);
  if (end - begin <= kFewRows) {
    write_rows(begin, end, few_, planes);
  } else {
    write_rows(begin, end, many_, planes);
  }
  const auto rows = static_cast<float>(end - begin);
  for (std::size_t c = 0; c < planes.size(); ++c) {
    if (c >= static_cast<std::size_t>(picture_.channels)) {  // grey
      std::copy_n(planes[0], widths_.size(), planes[c]);
      continue;
    }
    float* const out = planes[c];
    for (std::size_t x = 0; x < widths_.size(); ++x) out[x] /= widths_[x] * rows;
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
