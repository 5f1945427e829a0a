// Which images are in which part of the data: images that an earlier training divided stay in their parts
// (data/open/split_manifest.h), lest a test image be trained on, and copies of training images are found in the other
// parts.
#pragma once

#include <string>
#include <vector>

#include "data/copies.h"
#include "data/open/open_data.h"
#include "data/open/split_manifest.h"

namespace evener::training {

struct TrainOptions;

/// A validation or test image that is a copy of a training image, both by their names (Dataset::source()).
struct CopiedFiles {
  std::string judged, part;  // "validation" or "test"
  std::string trained;
  data::CopyRelation relation;
  double distance = 0;  // data::CopiedImage
};

/// The result of looking for copies.
struct CopySearch {
  std::vector<CopiedFiles> pairs;  // validation before test, in their order; nearest first
  std::size_t judged = 0;          // validation and test images that are in a pair
  std::size_t exact = 0;           // of those, the ones that equal a training image in every pixel
  bool is_made = false;            // false: copies were not looked for
  std::string near_reason;         // why only exact copies were looked for; "" = near ones, too
};

/// Compares the images to validate and test on with those to train on. Throws as data::find_copies().
CopySearch search_copies(const data::OpenedData& data, int threads);

/// The same search at the end of a classifier's training. It is left out (is_made is false) for detectors, where not
/// all pixels are in memory, as reading them again could take as long as an epoch, and after a stop request.
CopySearch copies_after_training(const data::OpenedData& data, int threads);

/// Throws UsageError where the data of a resumed run isn't where it was.
void require_data_of_run(const TrainOptions& options);

/// Puts the images of a resumed run into the parts that they had. New images are in no part, which a note tells.
/// Changes nothing for runs without a manifest. Throws UsageError where a training or validation image is gone or has
/// changed: the run would become another training.
void resume_parts(const TrainOptions& options, data::OpenedData& opened);

/// Moves images that `options.weights` were trained on from the validation and test parts of a new run into its
/// training part. With inherits_parts, and where more than half of the data was in the run of the weights, all images
/// of that run keep their parts, and only new ones are divided.
void inherit_parts(const TrainOptions& options, data::OpenedData& opened);

/// Whether the run that is resumed has a manifest, by which its images are recognised wherever they lie.
bool knows_its_images(const TrainOptions& options);

/// Takes the images that options.drop names out of the parts, whoever put them there, and notes that. Throws as
/// data::leave_out().
void leave_out_dropped(const TrainOptions& options, data::OpenedData& opened);

/// Writes the manifest of the run into its folder, and the names of the images that it leaves out.
void save_manifest(const TrainOptions& options, const data::OpenedData& opened);

}  // namespace evener::training
