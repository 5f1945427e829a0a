// What the journal of faces keeps of a run's options.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "job/faces/faces_flags.h"
#include "task/faces/faces.h"

namespace evener::job {

/// The settings on which found faces depend: faces found with other settings can't be reused. Networks in files are
/// told by a hash of their contents. Throws Error where such a file can't be read.
nlohmann::json face_settings(const FaceNetworkFlags& flags, const FacesPlacementFlags& placement,
                             const task::EmbedderRequest& embedder, const task::DetectorRequest& detector);

}  // namespace evener::job
