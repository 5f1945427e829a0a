// Images that an earlier training divided into parts stay in these parts (data/open/split_manifest.h), lest a test
// image be trained on. Inside task/ only.
#pragma once

#include "data/open/open_data.h"
#include "data/open/split_manifest.h"
#include "task/training/train.h"

namespace evener::task {

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

}  // namespace evener::task
