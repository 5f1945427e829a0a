#include "data/write_folder.h"

#include <fmt/format.h>

#include <vector>

#include "data/each_index.h"
#include "data/new_folder.h"
#include "data/png_encode.h"

namespace evener::data {

void write_image_folder(const Dataset& dataset, const std::filesystem::path& folder, int threads) {
  NewFolder work(folder);
  for (const std::string& name : dataset.classes()) work.create(name);
  for_each_index(dataset.size(), threads, [&](std::size_t i) {
    std::vector<std::uint8_t> pixels(dataset.shape().bytes());
    dataset.read(i, pixels);
    const std::string& name = dataset.classes()[static_cast<std::size_t>(label_of(dataset, i))];
    work.write(std::filesystem::path(name) / fmt::format("{:06}.png", i), encode_png(dataset.shape(), pixels));
  });
  work.finish();
}

}  // namespace evener::data
