// What a run of `evener train` has left in its folder.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/relative_distance.h"
#include "base/tensor.h"

namespace evener::test {

using Words = std::vector<std::string>;

/// `words`, without those options that `more` gives anew, and then `more`.
Words joined(const Words& words, const Words& more);

/// Options that go on from a ResNet-20 which has learnt ten digits of 20x20 pixels, in `folder`, this test's own.
Words from_digits(const std::filesystem::path& folder);

/// record.json of the run in `folder`.
nlohmann::json record_in(const std::filesystem::path& folder);

/// The tensors of last.safetensors.
TensorMap last_weights(const std::filesystem::path& folder);

/// last.resume-N.safetensors, with the optimiser's state; empty where there is none.
std::filesystem::path resume_file(const std::filesystem::path& folder);

}  // namespace evener::test
