// What photos cost: chunk by chunk while a run goes on, and how workers share the work.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/pictures.h"
#include "job/observer.h"
#include "record/record.h"
#include "record/scaling_law.h"
#include "report/faces_page.h"
#include "task/faces/faces.h"

namespace evener::job {

/// For the record: medians over all chunks, with each of them as a sample.
void add_chunks(record::Record& record, const std::vector<task::FacesChunk>& chunks);
std::vector<report::ChunkOnPage> chunks_on_page(const std::vector<task::FacesChunk>& chunks);

/// The same photos, looked at by 1, 2, 4 and so on workers up to all, in turns.
struct WorkerScaling {
  std::size_t photos = 0;
  std::vector<record::ScalingPoint> points;  // in the order in which they were taken
  record::AmdahlFit fit;
  std::optional<record::Interval> share_interval;  // of 95 %, of its serial share
};

/// Looks at some of the photos `which` again and again and keeps nothing of them; writes scaling.csv into `folder`.
/// Absent, with a note, where there is but one worker. Throws as FacesJob::run.
std::optional<WorkerScaling> measure_scaling(task::FacesJob& job, const data::Pictures& photos,
                                             const std::vector<std::size_t>& which, const std::filesystem::path& folder,
                                             Observer& line);

/// Another run's table goes.
void forget_scaling(const std::filesystem::path& folder);

/// "4 workers did 3.6x as much as one; ...".
std::string scaling_text(const WorkerScaling& scaling);
void add_scaling(record::Record& record, const WorkerScaling& scaling);
report::ScalingOnPage scaling_on_page(const WorkerScaling& scaling);

}  // namespace evener::job
