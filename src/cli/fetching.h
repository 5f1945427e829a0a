// Downloads with their progress on stderr, for evener data fetch and for weights that are named instead of a file.
#pragma once

#include <string>

#include "data/fetch/catalogue.h"
#include "job/faces/faces_flags.h"
#include "job/options/option.h"

namespace evener::cli {

/// The address that EVENER_FETCH_FROM gives, or "". Throws UsageError where it is none.
std::string fetch_mirror();

/// data::fetch_set, shown as it goes on. Throws Error, which says what to put where by hand.
bool fetch_entry(const data::CatalogueEntry& entry, const std::string& folder, const std::string& from);

/// Where `weights` is a name (job/named_weights.h) instead of a file: downloads it, unless it is there already, and
/// makes the file the option's value. `normalize`: images are then normalised as these weights want it, unless that was
/// given; null where there is no such option.
void take_named_weights(job::Option<std::string>& weights, job::Option<std::string>* normalize,
                        const std::string& model);

/// The same for the networks of faces: "facenet" for the embedder's weights, which have the detector's taken too where
/// none are given, and "mtcnn" for those. Throws UsageError where the embedder is another network.
void take_named_face_weights(job::FaceNetworkFlags& networks);

}  // namespace evener::cli
