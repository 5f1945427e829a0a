// Downloads with their progress on stderr, for evener data fetch and for weights that are named instead of a file.
#pragma once

#include <string>

#include "data/fetch/catalogue.h"
#include "job/faces/faces_flags.h"
#include "job/options/option.h"

namespace evener::cli {

/// The address in the environment variable EVENER_FETCH_FROM, or "". Throws UsageError where it is no address.
std::string fetch_mirror();

/// Calls data::fetch_set() and shows its progress. Throws Error, which says which files to put where by hand.
bool fetch_entry(const data::CatalogueEntry& entry, const std::string& folder, const std::string& from);

/// Where `weights` is a name (job/cache_folder.h) instead of a file: downloads the weights, unless they are there
/// already, and sets the option to their file. Also sets `normalize` to the normalisation of these weights, unless it
/// was given; null where the command has no such option.
void take_named_weights(job::Option<std::string>& weights, job::Option<std::string>* normalize,
                        const std::string& model);

/// The same for the face networks: "facenet" for the embedder's weights, and "mtcnn" for the detector's. "facenet" also
/// takes mtcnn where no other detector and no weights of it are given. Throws UsageError where the embedder is another
/// network.
void take_named_face_weights(job::FaceNetworkFlags& networks);

}  // namespace evener::cli
