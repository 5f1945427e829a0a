#include "data/codecs/avif_module/avif_orientation.h"

#include "data/codecs/exif.h"

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
  const int turns = (image.transformFlags & AVIF_TRANSFORM_IROT) != 0 ? image.irot.angle : 0;
  if ((image.transformFlags & AVIF_TRANSFORM_IMIR) == 0) return orientation_of_turns(turns, Mirror::kNone);
  return orientation_of_turns(turns, mirror_of(image) == 0 ? Mirror::kTopWithBottom : Mirror::kLeftWithRight);
}

}  // namespace evener::data::avif_module
