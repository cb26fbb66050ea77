/* The cheapest honest hook: reads its whole input, answers with JSON. */
#include <unistd.h>

int main(void) {
    static char input[1 << 16];
    static const char answer[] = "{\"decision\":\"allow\"}\n";
    while (read(0, input, sizeof input) > 0) {
    }
    return write(1, answer, sizeof answer - 1) == (ssize_t)(sizeof answer - 1) ? 0 : 1;
}
