// Rows of the tables that are written while faces are found, so that a killed run has left them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/open/pictures.h"
#include "job/faces/names.h"
#include "task/faces/faces.h"

namespace evener::job {

/// The heading of faces.csv, and the rows for a photo's faces. `groups`: the group of each face from 0, -1 = none;
/// empty = not known yet. `names`: of the groups. `more`: further columns of each face, as ",1,2"; empty = there are
/// none.
std::string faces_heading();
std::string faces_rows(const std::string& file, const std::vector<task::EmbeddedFace>& faces,
                       const std::vector<int>& groups = {}, const PersonNames& names = {},
                       const std::vector<std::string>& more = {});

std::string chunks_heading();
std::string chunk_row(const task::FacesChunk& chunk);

}  // namespace evener::job
