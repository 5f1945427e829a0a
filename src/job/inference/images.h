// Opens what a user names as IMAGES, as samples.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/open/samples.h"
#include "data/skipped.h"
#include "data/split.h"
#include "job/inference/inference_flags.h"

namespace evener::job {

struct InferImages {
  std::unique_ptr<data::Samples> samples;
  std::string location;   // what was named, for people and the record
  std::string part;       // of data: the part that is shown; "" = the samples are not from data
  std::string part_note;  // see part_note(); "" = all samples are shown
  std::string seen;       // data::seen_text() of pictures; "" = arrays or random values, which aren't preprocessed
  bool labelled = false;
  bool are_random = false;             // made up, for measuring
  std::vector<data::Skipped> skipped;  // folders and images that are no samples
  std::vector<std::string> notes;
};

/// Replaces each word that names a list, a .txt file or - for stdin, by the lines of the list. Throws UsageError where
/// nothing is left.
std::vector<std::string> with_lists(const std::vector<std::string>& words);

/// For each of the data's classes, which is at `where`, the network's number of it. Nothing where no class of the data
/// is one of the network's: then its folders say something else. Throws UsageError where only some are.
std::optional<std::vector<std::int32_t>> class_numbers(const std::vector<std::string>& of_data,
                                                       const task::InferenceModel& network, const std::string& where);

/// Opens the images that `flags` name, for the network. Without IMAGES, opens the test part of the data on which the
/// network was trained. Throws UsageError and Error.
InferImages open_images(const InferenceFlags& flags, const task::InferenceModel& network, int threads);

}  // namespace evener::job
