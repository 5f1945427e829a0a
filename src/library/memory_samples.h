// Images in somebody else's memory, as samples for a network.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/open/samples.h"
#include "data/preprocess.h"
#include "evener/loaded_network.h"

namespace evener::library {

/// Pictures, each brought to the shape of `steps`, as files are. They are read when they are asked for. Throws Error
/// for pictures that can't be.
std::unique_ptr<data::Samples> picture_span_samples(const PictureSpan& pictures, const data::Preprocessing& steps);

/// Values as they are. Throws Error for a shape that can't be.
std::unique_ptr<data::Samples> value_samples(const SampleSpan& samples);

}  // namespace evener::library
