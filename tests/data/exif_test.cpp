#include "data/codecs/exif.h"

#include "data/data_helpers.h"

namespace evener::data {
namespace {

std::string little_endian_tiff(char orientation, char type = 3) {
  std::string tiff("II*\0\x08\0\0\0\x01\0\x12\x01", 12);
  tiff += std::string{type, 0, 1, 0, 0, 0, orientation, 0, 0, 0};
  return tiff;
}

TEST(Exif, ReadsBothByteOrders) {
  EXPECT_EQ(exif_orientation(little_endian_tiff(6)), 6);
  const std::string big("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0", 22);
  EXPECT_EQ(exif_orientation(big), 8);
}

TEST(Exif, TakesNonsenseForUpright) {
  EXPECT_EQ(exif_orientation(""), 1);
  EXPECT_EQ(exif_orientation("II"), 1);
  EXPECT_EQ(exif_orientation("XX*"), 1);
  EXPECT_EQ(exif_orientation(little_endian_tiff(9)), 1);
  EXPECT_EQ(exif_orientation(little_endian_tiff(0)), 1);
  EXPECT_EQ(exif_orientation(little_endian_tiff(6, 7)), 1);  // another type
  // A directory far outside, and one with more entries than bytes.
  EXPECT_EQ(exif_orientation(std::string("II*\0\xff\xff\xff\xff", 8)), 1);
  EXPECT_EQ(exif_orientation(std::string("II*\0\x08\0\0\0\xff\xff", 10)), 1);
  const std::string whole = little_endian_tiff(6);
  for (std::size_t length = 0; length < whole.size(); ++length) EXPECT_EQ(exif_orientation(whole.substr(0, length)), 1);
}

/// The picture 1 2 3 / 4 5 6 turned as the orientation says.
std::vector<std::uint8_t> turned(int orientation) {
  Picture picture = Picture::unset(1, 2, 3);
  for (int i = 0; i < 6; ++i) picture.pixels[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i + 1);
  const Picture upright = turn_upright(std::move(picture), orientation);
  EXPECT_EQ(upright.width, orientation >= 5 ? 2 : 3);
  return {upright.pixels.get(), upright.pixels.get() + 6};
}

TEST(Exif, TurnsUpright) {
  using Pixels = std::vector<std::uint8_t>;
  EXPECT_EQ(turned(1), (Pixels{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(turned(2), (Pixels{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(turned(3), (Pixels{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(turned(4), (Pixels{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(turned(5), (Pixels{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(turned(6), (Pixels{4, 1, 5, 2, 6, 3}));
  EXPECT_EQ(turned(7), (Pixels{6, 3, 5, 2, 4, 1}));
  EXPECT_EQ(turned(8), (Pixels{3, 6, 2, 5, 1, 4}));
}

}  // namespace
}  // namespace evener::data
