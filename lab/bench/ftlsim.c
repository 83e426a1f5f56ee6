/* Writes a trace of page numbers through the greedy drive of ssl-ftlsim (pjd-nu/sssl-ftlsim), and prints its WAF.
 *
 *     gcc -O3 -march=native -I FTLSIM $(python3-config --includes) -o ftlsim lab/bench/ftlsim.c FTLSIM/runsim_greedy.c
 *     ./ftlsim TRACE UNITS PAGES_OF_A_UNIT UNITS_OF_DATA
 *
 * TRACE has raw numbers of 32 bits; as many as there are pages of data fill the drive in order, which ssl-ftlsim does
 * by itself, and are left out. Its hooks for Python do nothing here.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ftlsim.h"
#include "runsim.h"

void runsim_stats_exit(struct runsim *sim, int valid, int block) { (void)sim, (void)valid, (void)block; }
void runsim_stats_enter(struct runsim *sim, int block) { (void)sim, (void)block; }
void runsim_stats_write(struct runsim *sim, int page, int block, int place) { (void)sim, (void)page, (void)block, (void)place; }

int main(int count, char **words)
{
    if (count != 5)
        return fputs("use: ftlsim TRACE UNITS PAGES_OF_A_UNIT UNITS_OF_DATA\n", stderr), 2;
    FILE *file = fopen(words[1], "rb");
    if (file == NULL)
        return perror(words[1]), 1;
    int units = atoi(words[2]), unit_pages = atoi(words[3]), data_units = atoi(words[4]);
    struct greedy *drive = greedy_new(units, data_units, unit_pages);
    drive->target_free = 1;
    fseek(file, (long)data_units * unit_pages * 4, SEEK_SET);
    static int pages[1 << 16];
    for (size_t read; (read = fread(pages, 4, 1 << 16, file)) > 0;)
        for (size_t at = 0; at < read; at++)
            drive->handle.step(drive, pages[at]);
    printf("host %d flash %d WAF %.4f\n", drive->ext_writes, drive->int_writes, (double)drive->int_writes / drive->ext_writes);
    return 0;
}
