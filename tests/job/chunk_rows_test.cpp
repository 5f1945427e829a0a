// The rows of chunks.csv.
#include <gmock/gmock.h>

#include "job/faces/tables.h"

namespace evener::job {
namespace {

TEST(ChunkRows, TellTheSharesOfTheWorkerAndOfTheProcess) {
  const task::FacesChunk chunk{.worker = 1,
                               .number = 2,
                               .photos = 16,
                               .faces = 5,
                               .begin_s = 0.5,
                               .seconds = 2,
                               .cpu_s = 1,
                               .process_cpu_s = 3,
                               .rss_bytes = 4096};
  EXPECT_EQ(chunk_row(chunk), "1,2,16,5,0.500,2.000,50.0,150.0,4096\n");
}

}  // namespace
}  // namespace evener::job
