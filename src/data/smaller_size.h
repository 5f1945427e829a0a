// Recommends a size for images that are larger than they need to be.
#pragma once

#include <string>

#include "data/image_shape.h"

namespace evener::data {

/// "299x224" for 4000x3000: of the same proportions, with the 224 pixels on the shorter side that most networks are
/// made for. Empty where that would not be smaller.
std::string smaller_size(const ImageShape& shape);

}  // namespace evener::data
