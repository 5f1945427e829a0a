// Data written as a folder of images, one folder for each class.
#include "data/write_folder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/data_helpers.h"
#include "data/open/open_data.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WriteFolder, IsWholeOrNotThereAtAll) {
  const TemporaryFolder folder;
  const CountingDataset dataset(6, {3, 2, 4}, 3);
  const auto target = folder / "new/folder";
  write_image_folder(dataset, target, 2);
  DataOptions written;
  written.location = target.string();
  written.threads = 3;
  const OpenedData opened = open_data(written);
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("class0", "class1", "class2"));
  EXPECT_EQ(opened.dataset->shape(), (ImageShape{3, 2, 4}));
  std::vector<std::uint8_t> pixels(24);
  opened.dataset->read(1, pixels);  // class0 holds samples 0 and 3
  EXPECT_EQ(pixels[23], 3);
  EXPECT_THAT(error_of([&] { write_image_folder(dataset, target, 1); }), HasSubstr("not an empty folder"));

  class Failing : public CountingDataset {
   public:
    Failing() : CountingDataset(6, {1, 2, 2}) {}
    void read(std::size_t, std::span<std::uint8_t>) const override { throw Error("lost"); }
  };
  EXPECT_EQ(error_of([&] { write_image_folder(Failing(), folder / "new/other", 2); }), "lost");
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "new")) left.push_back(entry.path().filename());
  EXPECT_THAT(left, ElementsAre("folder"));
}

}  // namespace
}  // namespace evener::data
