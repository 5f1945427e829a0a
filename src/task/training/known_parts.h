// Data whose images a training has divided before: they stay in their parts (data/open/split_manifest.h). Inside task/
// only.
#pragma once

#include "data/open/open_data.h"
#include "data/open/split_manifest.h"
#include "task/training/train.h"

namespace evener::task {

/// Throws UsageError where the data of a run that is gone on with isn't where it was.
void require_data_of_run(const TrainOptions& options);

/// Gives the images of a run that is gone on with the parts that they had. New ones are in none, which a note tells.
/// Changes nothing for runs without a manifest. Throws UsageError where an image to train on or to validate on is gone
/// or has changed: then it would be another training.
void resume_parts(const TrainOptions& options, data::OpenedData& opened);

/// Keeps images that `options.weights` were trained on out of the parts that judge a new run. With inherits_parts all
/// images that the weights' run knew stay in their parts, where most of the data is known, and only new ones are
/// divided.
void inherit_parts(const TrainOptions& options, data::OpenedData& opened);

/// Whether the checkpoint's run has a manifest, so that its images are known wherever they lie.
bool knows_its_images(const TrainOptions& options);

/// Writes that of the run into its folder.
void save_manifest(const TrainOptions& options, const data::OpenedData& opened);

}  // namespace evener::task
