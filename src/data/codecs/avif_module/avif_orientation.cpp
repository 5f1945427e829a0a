#include "data/codecs/avif_module/avif_orientation.h"

namespace evener::data::avif_module {

namespace {

#if AVIF_VERSION >= 1000000
int mirror_of(const avifImage& image) {
  return image.imir.axis;
}
#else
int mirror_of(const avifImage& image) {
  return image.imir.mode;
}
#endif

}  // namespace

int orientation_of(const avifImage& image) {
  // By quarter turns against the clock; then mirrored: not, top with bottom, left with right.
  static constexpr int kOrientations[4][3] = {{1, 4, 2}, {8, 5, 7}, {3, 2, 4}, {6, 7, 5}};
  const int turns = (image.transformFlags & AVIF_TRANSFORM_IROT) != 0 ? image.irot.angle & 3 : 0;
  const int mirrored = (image.transformFlags & AVIF_TRANSFORM_IMIR) != 0 ? 1 + (mirror_of(image) & 1) : 0;
  return kOrientations[turns][mirrored];
}

}  // namespace evener::data::avif_module
