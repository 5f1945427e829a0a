// `evener faces`: from a folder of photos, or a file of embeddings, to groups of faces.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/this_work.h"
#include "faces/options.h"
#include "measure/run/metered_run.h"
#include "measure/run/observer.h"
#include "record/record.h"

namespace evener::faces {

struct FacesRun {
  record::Record record;
  std::vector<std::string> summary;  // sentences
  std::filesystem::path results;     // where to look first: a page, or a folder
  bool was_stopped = false;          // a camera or a pipe, by the user
};

/// Finds, embeds, compares and groups faces, and writes the files of the run. `stop`: ends it in good order, as a
/// signal does; null: signals alone. Throws UsageError, Error and Interrupted.
FacesRun find_faces(const FacesCommandFlags& flags, measure::Observer& observer, const StopFlag* stop = nullptr);

/// The options of finding faces, and those of the run. `resumes`: the run goes on with what its folder holds. Both
/// throw UsageError.
FacesOptions faces_options(const FacesCommandFlags& flags);
measure::RunOptions run_options(const FacesCommandFlags& flags, const placement::Plan& plan, bool resumes);

}  // namespace evener::faces
