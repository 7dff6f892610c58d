SHORT_READS = files_by_name(config["map"]["reads"], FASTQ)


rule map_index:
    input:
        config["map"]["reference"],
    output:
        "results/index/reference.hgx",
    log:
        "logs/map_index.log",
    resources:
        **on_gpu(config["map"]["mem_mb"]),
    params:
        hapgpu=HAPGPU,
        device=config["device"],
    shell:
        "{params.hapgpu} index {input:q} --device {params.device} -o {output:q} 2> {log:q}"


rule map_file:
    input:
        reads=lambda wildcards: SHORT_READS[wildcards.name],
        index="results/index/reference.hgx",
    output:
        "results/map/{name}.bam",
    log:
        "logs/map/{name}.log",
    threads: config["threads"]
    resources:
        **on_gpu(config["map"]["mem_mb"]),
    params:
        hapgpu=HAPGPU,
        device=config["device"],
    shell:
        "{params.hapgpu} map {input.index:q} {input.reads:q} --no-PG"
        " --device {params.device} -t {threads} -o {output:q} 2> {log:q}"


rule hits:
    input:
        [f"results/map/{name}.bam" for name in SHORT_READS],
    output:
        "results/hits.bam",
    log:
        "logs/hits.log",
    shell:
        "samtools cat --no-PG -o {output:q} {input:q} 2> {log:q}"
