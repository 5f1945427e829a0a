// Opens labelled data for a trained network, and chooses the part of it that is evaluated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/open/open_data.h"
#include "data/preprocess.h"
#include "job/inference/inference_flags.h"

namespace evener::job {

/// A LabelledDataRequest::part: the test part, or the validation part where there is none.
inline constexpr const char* kHeldOut = "held-out";

struct LabelledDataRequest {
  std::string location;
  std::filesystem::path weights = {};     // weights file of the network, beside which the run's manifest lies; empty =
                                          // none
  std::string part = {};                  // "train", "validation", "test", "new", kHeldOut or "all"; "" = chosen
  std::string split = {};                 // "85/2/13"; "" = as it comes, or as the network's training had it
  std::optional<std::int64_t> seed = {};  // of the split; absent = the training's
  std::vector<data::ClassFiles> classes = {};  // data::DataOptions::classes; empty = as the training's
  bool strict = false;
  int threads = 1;
};

/// The request by `flags`.
LabelledDataRequest labelled_request(const PartFlags& flags, const std::string& location,
                                     const task::InferenceModel& network, int threads);

/// The location of the data on which a run was trained; "" = not known. Throws UsageError where the data isn't there
/// any more.
std::string own_data(const RunConfig& run);

/// Opens the data, preprocessed for the network by `steps`. Data on which the network was trained is divided, decoded
/// and cropped as in that training, which `run` describes: its images are in the parts that they had then
/// (data/open/split_manifest.h), even if the data has changed since. Other data has no image that was trained on in its
/// validation or test part. Notes tell both. Throws as data::open_data does.
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

/// A note on the part that is shown: how many of all images it has and, where the user didn't choose it, how to see
/// all. "" where all are shown.
std::string part_note(const ShownPart& shown, const LabelledDataRequest& request);

/// The samples of a part: "train", "validation", "test" or "new"; of all for anything else.
std::vector<std::uint32_t> indices_of(const data::Split& split, const std::string& part);

}  // namespace evener::job
