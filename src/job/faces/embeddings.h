// Compares faces by the embeddings that an earlier run or other software wrote into a .safetensors file, without their
// photos.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job/faces/comparison.h"
#include "job/faces/faces_flags.h"
#include "job/observer.h"
#include "task/faces/compare.h"

namespace evener::job {

struct StoredFaces {
  task::Embeddings embeddings;
  std::vector<std::string> files;    // of each face
  std::vector<task::FaceBox> boxes;  // of each face; empty = the file has none
  float sure = kUsuallySure;         // see FounderRule
};

/// Reads the tensor "embeddings" (faces, D) in float32, or the file's only tensor of that kind, and the names of photos
/// and the boxes where the file has them. Doesn't hold the embeddings in memory twice. Throws Error naming what is
/// wrong with the file.
StoredFaces read_embeddings(const std::filesystem::path& path);
void write_embeddings(const std::filesystem::path& path, const StoredFaces& faces);

/// Whether `photos` names a single file of embeddings instead of photos. Throws UsageError where such a file stands
/// among others.
bool names_embeddings(const std::vector<std::string>& photos);

struct FacesRun;

/// Compares and groups the faces of the file that `flags` name, and writes the files of the run.
FacesRun compare_embeddings(const FacesCommandFlags& flags, Observer& line);

}  // namespace evener::job
