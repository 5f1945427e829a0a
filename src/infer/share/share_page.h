// The page about a trained classifier for people who don't know evener: what it recognises, how reliably, its mistakes,
// its size and speed, and how to use it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "report/page_part.h"
#include "report/run.h"

namespace evener::inference {

struct SharedNetwork {
  report::Run training;
  report::Run judging;             // `evener infer` on images not used in training
  report::PagePart predictions;    // of the latter
  std::filesystem::path folder;    // folder of the training, as shown in the page's commands
  std::uint64_t weight_bytes = 0;  // of the file
};

/// The page, with everything inside.
std::string share_page(const SharedNetwork& shared);

}  // namespace evener::inference
