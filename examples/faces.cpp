// Finds the faces on the photos of a folder, and who is like whom:  faces PHOTOS DETECTOR_WEIGHTS EMBEDDER_WEIGHTS
// FOLDER
#include <evener/evener.h>

#include <cstdio>

namespace {

class Progress : public evener::Observer {
  void progress(const std::string& text) override { std::fprintf(stderr, "\r\33[K%s", text.c_str()); }
  void note(const std::string& text) override { std::fprintf(stderr, "\r\33[K%s\n", text.c_str()); }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: faces PHOTOS DETECTOR_WEIGHTS EMBEDDER_WEIGHTS FOLDER\n");
    return 2;
  }
  try {
    Progress progress;
    const evener::Result result = evener::find_faces(
        {{"dir", {argv[1]}}, {"detector-weights", argv[2]}, {"weights", argv[3]}, {"out", argv[4]}, {"resume", true}},
        &progress);
    for (const std::string& sentence : result.summary) std::printf("%s\n", sentence.c_str());
    std::printf("faces.csv and the page are in %s\n", result.folder.c_str());
    return 0;
  } catch (const evener::Error& error) {
    std::fprintf(stderr, "faces: %s\n", error.what());
    return 1;
  }
}
