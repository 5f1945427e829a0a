// The cost of photos, chunk by chunk.
#pragma once

#include <vector>

#include "record/record.h"
#include "report/faces_page.h"
#include "task/faces/faces.h"

namespace evener::job {

/// Adds the medians over all chunks to the record, with each chunk as a sample.
void add_chunks(record::Record& record, const std::vector<task::FacesChunk>& chunks);
std::vector<report::ChunkOnPage> chunks_on_page(const std::vector<task::FacesChunk>& chunks);

}  // namespace evener::job
