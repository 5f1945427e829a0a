// The classes of ImageNet's challenge, which networks with 1000 outputs mostly tell apart.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace evener::task {

/// The names of the 1000 classes in the order of the challenge (ILSVRC 2012, by WordNet's numbers), or of 1001 where
/// the first is the background, as TensorFlow's networks have it. Empty for another number.
std::vector<std::string> imagenet_names(std::size_t outputs);

}  // namespace evener::task
