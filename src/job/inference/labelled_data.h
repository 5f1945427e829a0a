// Data whose classes or boxes are known, opened for a trained network, and which part of it is shown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/open/open_data.h"
#include "data/preprocess.h"
#include "job/inference/inference_flags.h"
#include "job/inference/run_config.h"

namespace evener::job {

/// The test part, or where there is none, that to validate on.
inline constexpr const char* kHeldOut = "held-out";

struct LabelledDataRequest {
  std::string location;
  std::filesystem::path weights = {};     // the network's; a run's manifest lies beside them; empty = none
  std::string part = {};                  // "train", "validation", "test", "new", kHeldOut or "all"; "" = chosen
  std::string split = {};                 // "85/2/13"; "" = as it comes, or as the network's training had it
  std::optional<std::int64_t> seed = {};  // of the split; absent = the training's
  bool strict = false;
  int threads = 1;
};

/// As `flags` ask for it.
LabelledDataRequest labelled_request(const PartFlags& flags, const std::string& location,
                                     const task::InferenceModel& network, int threads);

/// Where the data lies that a run was made with; "" = that is not known. Throws UsageError where it isn't there.
std::string own_data(const RunConfig& run);

/// Opens it in the size that the network takes. The data that it was trained on is divided, decoded and cropped as the
/// training did, of which `run` tells: its images are in the parts that they had then (data/open/split_manifest.h),
/// however the data has changed since, and of other data no image that was trained on is in a part to validate on or to
/// test with; notes tell both. Throws as data::open_data does.
data::OpenedData open_labelled_data(const LabelledDataRequest& request, const data::Preprocessing& steps,
                                    const RunConfig& run);

struct ShownPart {
  std::string name;  // "train", "validation", "test", "new" or "all"
  std::vector<std::uint32_t> indices;
  std::size_t images = 0;  // of all parts
};

/// The part that was asked for; by default what is held out of data that comes divided, or that the network was trained
/// on, and all of it where nothing is. Throws UsageError where it has no images.
ShownPart shown_part(const data::OpenedData& opened, const LabelledDataRequest& request, const RunConfig& run);

/// What a user should know of a part: how many of how many images it is, and, where nobody asked for it, how to see
/// all. "" for all of them.
std::string part_note(const ShownPart& shown, const LabelledDataRequest& request);

/// The samples of a part: "train", "validation", "test" or "new"; of all for anything else.
std::vector<std::uint32_t> indices_of(const data::Split& split, const std::string& part);

}  // namespace evener::job
