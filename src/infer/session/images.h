// Opens what a user names as IMAGES, as samples.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/open/open_data.h"
#include "data/open/samples.h"
#include "data/preprocess.h"
#include "data/skipped.h"
#include "data/split.h"
#include "infer/session/options.h"

namespace evener::inference {

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
                                                       const InferenceModel& network, const std::string& where);

/// Opens the images that `flags` name, for the network. Without IMAGES, opens the test part of the data on which the
/// network was trained. Throws UsageError and Error.
InferImages open_images(const InferenceFlags& flags, const InferenceModel& network, int threads);

// Opens labelled data for a trained network, and chooses the part of it that is evaluated.

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
  bool look_only = false;  // data::DataOptions::look_only: files are decoded when they are read
};

/// The request by `flags`.
LabelledDataRequest labelled_request(const PartFlags& flags, const std::string& location, const InferenceModel& network,
                                     int threads);

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

}  // namespace evener::inference
