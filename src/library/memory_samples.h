// Images in the caller's memory as samples for a network.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/open/samples.h"
#include "data/preprocess.h"
#include "evener/loaded_network.h"

namespace evener::library {

/// Pictures, which are preprocessed by `steps` like image files. They aren't copied, so they must stay valid while the
/// samples are in use. Throws Error for an impossible shape, wrong channels or a null pointer.
std::unique_ptr<data::Samples> picture_span_samples(const PictureSpan& pictures, const data::Preprocessing& steps);

/// Values that are passed to the network unchanged; not copied either. Throws Error for an impossible shape, and unless
/// exactly one of the two pointers is set.
std::unique_ptr<data::Samples> value_samples(const SampleSpan& samples);

}  // namespace evener::library
