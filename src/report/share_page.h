// The page about a trained classifier for people who don't know evener: what it recognises and how surely, what it was
// wrong about, how large and fast it is here, and how to use it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "report/run.h"

namespace evener::report {

struct SharedNetwork {
  Run training;
  Run judging;                     // `evener infer` of images that it had not learnt from, with predictions
  std::filesystem::path folder;    // of the training, as the commands on the page name it
  std::uint64_t weight_bytes = 0;  // of the file
};

/// The page as text; everything is in it. The classes are those of the training.
std::string share_page(const SharedNetwork& shared);

}  // namespace evener::report
