#include "data/area_resize.h"

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace evener::data {
namespace {

constexpr std::int64_t kChannels = 3;

struct Window {
  std::int64_t begin = 0, end = 0;
};

Window window_of(std::int64_t output, std::int64_t outputs, std::int64_t inputs) {
  return {output * inputs / outputs, ((output + 1) * inputs + outputs - 1) / outputs};
}

/// The sums of rows begin..end-1, column by column and channel by channel as they lie in the picture.
void add_rows(const Picture& picture, const PictureArea& area, const Window& rows, std::vector<std::uint32_t>& sums) {
  std::ranges::fill(sums, 0);
  for (std::int64_t y = rows.begin; y < rows.end; ++y) {
    const std::uint8_t* in = picture.row(area.y + y) + area.x * picture.channels;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += in[i];
  }
}

}  // namespace

void area_resize(const Picture& picture, const PictureArea& area, std::int64_t height, std::int64_t width,
                 std::span<float> chw) {
  const bool within = area.x >= 0 && area.y >= 0 && area.width > 0 && area.height > 0 &&
                      area.x + area.width <= picture.width && area.y + area.height <= picture.height;
  if (!within || height < 1 || width < 1) throw Error("a part that is not within a picture was asked for");
  const auto plane = static_cast<std::size_t>(height * width);
  if (chw.size() != kChannels * plane) throw Error("a resized part was given memory of another size");
  const auto channels = static_cast<std::size_t>(picture.channels);
  std::vector<Window> columns;
  for (std::int64_t x = 0; x < width; ++x) columns.push_back(window_of(x, width, area.width));
  // Sums stay whole numbers, so they are exact; only the mean is rounded.
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(area.width) * channels);
  for (std::int64_t y = 0; y < height; ++y) {
    const Window rows = window_of(y, height, area.height);
    add_rows(picture, area, rows, sums);
    for (std::size_t c = 0; c < kChannels; ++c) {
      float* const out = chw.data() + c * plane + static_cast<std::size_t>(y * width);
      if (c >= channels) {  // grey
        std::copy_n(chw.data() + static_cast<std::size_t>(y * width), width, out);
        continue;
      }
      for (std::size_t x = 0; x < columns.size(); ++x) {
        std::uint64_t sum = 0;
        for (std::int64_t i = columns[x].begin; i < columns[x].end; ++i) {
          sum += sums[static_cast<std::size_t>(i) * channels + c];
        }
        const std::int64_t count = (columns[x].end - columns[x].begin) * (rows.end - rows.begin);
        out[x] = static_cast<float>(sum) / static_cast<float>(count);
      }
    }
  }
}

}  // namespace evener::data
