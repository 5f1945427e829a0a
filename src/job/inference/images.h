// From what a user names as IMAGES to samples.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/open/samples.h"
#include "data/skipped.h"
#include "data/split.h"
#include "job/inference/inference_flags.h"

namespace evener::job {

struct InferImages {
  std::unique_ptr<data::Samples> samples;
  std::string location;   // for people and the record
  std::string part;       // of data; "" = not of data
  std::string part_note;  // see part_note(); "" = all is shown
  std::string seen;       // data::seen_text of them; "" = arrays and random values, which are shown as they are
  bool labelled = false;
  bool are_random = false;             // made up, for measuring
  std::vector<data::Skipped> skipped;  // folders and images that are no samples
  std::vector<std::string> notes;
};

/// The words with lists in place of those that name one: a .txt file, or - for stdin, with a name on each line. Throws
/// UsageError where nothing is left.
std::vector<std::string> with_lists(const std::vector<std::string>& words);

/// Opens what `flags` name, for the network. Without IMAGES it is the test part of the data that the network's own run
/// was trained on. Throws UsageError and Error.
InferImages open_images(const InferenceFlags& flags, const task::InferenceModel& network, int threads);

}  // namespace evener::job
