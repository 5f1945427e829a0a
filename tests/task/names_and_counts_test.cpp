// Names and numbers of classes, and what was computed in 8 bits.
#include <gmock/gmock.h>

#include "base/error.h"
#include "base/test_folder.h"
#include "task/detect/detector.h"
#include "task/inference/class_output.h"
#include "task/quantize/figures.h"

namespace evener::task {
namespace {

using testing::ElementsAre;

TEST(Labels, AreTheLinesWhateverEndsThem) {
  const test::TestFolder folder;
  test::write_text(folder / "names.txt", "cat\r\nbig dog\r\n\r\nfish\n\n");
  EXPECT_THAT(read_labels(folder / "names.txt"), ElementsAre("cat", "big dog", "", "fish"));
  using namespace std::string_literals;
  std::ofstream(folder / "utf16.txt") << "\xFF\xFE"s + "c\0a\0\r\0\n\0b\0\r\0\n\0"s;
  EXPECT_THAT(read_labels(folder / "utf16.txt"), ElementsAre("ca", "b"));
}

TEST(WantedLabels, AreNamesOrNumbersOfClasses) {
  EXPECT_THAT(wanted_labels({"dog", "0"}, {"cat", "dog"}), ElementsAre(1, 0));
  for (const char* unknown : {"2", "-1", "1x", "fish"}) {
    EXPECT_THROW(wanted_labels({unknown}, {"cat", "dog"}), UsageError) << unknown;
  }
}

TEST(Int8Layers, AreProductsOfSignedAndUnsignedBytes) {
  const Int8Layers layers = int8_layers({{"Convolution i8", 1},
                                         {"Convolution u8", 2},
                                         {"Convolution f32", 3},
                                         {"FullyConnected i8", 1},
                                         {"MatMul f32", 1},
                                         {"Pooling u8", 9}});
  EXPECT_EQ(layers.int8, 4);
  EXPECT_EQ(layers.all, 8);
}

}  // namespace
}  // namespace evener::task
